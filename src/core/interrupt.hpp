// Long work that can be ended: by Ctrl-C in the main thread, by cancellation in others.
#pragma once

#include <atomic>
#include <memory>

namespace truemix {

// Work that threads do together. Python waits for its threads before an error leaves it, so the
// error of one has to end the others.
class Cancellation {
public:
    Cancellation();
    void cancel() { cancelled_ = true; }
    bool cancelled() const { return cancelled_ || (outer_ && outer_->cancelled()); }
    // The thread works under this cancellation until leave().
    static void enter(std::shared_ptr<Cancellation> work);
    static void leave();

private:
    std::atomic<bool> cancelled_{false};
    std::shared_ptr<Cancellation> outer_;
};

// To be called every few microseconds to milliseconds; looks at signals ten times a second. Throws
// what ends the work.
void poll();

}  // namespace truemix
