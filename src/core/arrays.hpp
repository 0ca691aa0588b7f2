// Views of arrays that somebody else owns, and small arrays of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace truemix {

using Index = std::ptrdiff_t;
using Vector = std::vector<double>;
using Integers = std::vector<std::int64_t>;

// `make sanitize` checks every index; the loops themselves are tested to need no check.
inline void check_index([[maybe_unused]] Index i, [[maybe_unused]] Index size) {
#ifdef TRUEMIX_CHECKED
    if (i < 0 || i >= size) {
        std::fprintf(stderr, "index %td is outside 0 to %td\n", i, size - 1);
        std::abort();
    }
#endif
}

inline std::size_t extent(Index n) { return static_cast<std::size_t>(n); }

// Contiguous numbers.
template <class T>
class Span {
public:
    Span() = default;
    Span(T* data, Index size) : data_(data), size_(size) {}
    template <class U>
    Span(std::vector<U>& values) : data_(values.data()), size_(static_cast<Index>(values.size())) {}
    template <class U>
    Span(const std::vector<U>& values)
        : data_(values.data()), size_(static_cast<Index>(values.size())) {}
    operator Span<const T>() const { return {data_, size_}; }

    T& operator[](Index i) const {
        check_index(i, size_);
        return data_[i];
    }
    Index size() const { return size_; }
    T* data() const { return data_; }
    T* begin() const { return data_; }
    T* end() const { return data_ + size_; }
    Span part(Index start, Index size) const {
        check_index(start + size, size_ + 1);
        return {data_ + start, size};
    }

private:
    T* data_ = nullptr;
    Index size_ = 0;
};

// Rows of numbers, one after the other.
template <class T>
class Table {
public:
    Table() = default;
    Table(T* data, Index rows, Index columns) : data_(data), rows_(rows), columns_(columns) {}
    operator Table<const T>() const { return {data_, rows_, columns_}; }

    Span<T> operator[](Index i) const {
        check_index(i, rows_);
        return {data_ + i * columns_, columns_};
    }
    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    T* data() const { return data_; }
    Table top(Index rows) const { return {data_, rows, columns_}; }

private:
    T* data_ = nullptr;
    Index rows_ = 0;
    Index columns_ = 0;
};

// A table that owns its numbers.
template <class T = double>
struct Grid {
    Index rows = 0;
    Index columns = 0;
    std::vector<T> values;

    Grid() = default;
    Grid(Index n_rows, Index n_columns, T fill = T())
        : rows(n_rows), columns(n_columns), values(extent(n_rows * n_columns), fill) {}
    Span<T> operator[](Index i) { return table()[i]; }
    Span<const T> operator[](Index i) const { return table()[i]; }
    Table<T> table() { return {values.data(), rows, columns}; }
    Table<const T> table() const { return {values.data(), rows, columns}; }
    operator Table<T>() { return table(); }
    operator Table<const T>() const { return table(); }
};

using Numbers = Span<const double>;  // to read
using Out = Span<double>;            // to read and write
using Matrix = Table<const double>;
using OutMatrix = Table<double>;

}  // namespace truemix
