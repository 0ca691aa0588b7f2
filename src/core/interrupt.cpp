#include "interrupt.hpp"

#include <nanobind/nanobind.h>

#include <chrono>
#include <vector>

namespace truemix {

namespace nb = nanobind;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto PERIOD = std::chrono::milliseconds(100);
// Nested work: a block of rows may itself be split into blocks.
thread_local std::vector<std::shared_ptr<Cancellation>> stack;
thread_local Clock::time_point next = Clock::now() + PERIOD;

}  // namespace

Cancellation::Cancellation() : outer_(stack.empty() ? nullptr : stack.back()) {}

void Cancellation::enter(std::shared_ptr<Cancellation> work) { stack.push_back(std::move(work)); }

void Cancellation::leave() { stack.pop_back(); }

void poll() {
    const auto now = Clock::now();
    if (now < next) return;
    next = now + PERIOD;
    nb::gil_scoped_acquire python;
    if (!stack.empty() && stack.back()->cancelled()) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
    // Python handles signals in the main thread only; elsewhere this does nothing.
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace truemix
