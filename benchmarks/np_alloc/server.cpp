// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A server: each seat has a table of objects. The thread of a seat replaces objects, and hands some of them to the next
// seat, whose thread frees them. After a while the thread ends, and a new one takes over the seat with all its objects.
#include "workload.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace {
struct settings
{
    std::size_t lives; ///< Threads on a seat, one after the other.
    std::size_t steps; ///< Steps of each thread.
    std::size_t live;  ///< Objects on a seat.
    std::size_t min_bytes;
    std::size_t max_bytes;
};

/// Holds objects that other threads leave for a seat. Bounded: otherwise memory in use would depend on the scheduler.
class mailbox
{
public:
    bool try_leave(const workload::block& sent)
    {
        const std::lock_guard lock(mutex_);
        if (objects_.size() == room)
            return false;
        objects_.push_back(sent);
        return true;
    }

    std::vector<workload::block> collect()
    {
        std::vector<workload::block> collected;
        const std::lock_guard lock(mutex_);
        collected.swap(objects_);
        return collected;
    }

private:
    static constexpr std::size_t room = 256;

    std::mutex mutex_;
    std::vector<workload::block> objects_;
};

class seat
{
public:
    seat(const settings& run_settings, const workload::marks& marks) : settings_(&run_settings), marks_(&marks) {}

    void furnish(workload::random& random)
    {
        objects_.resize(settings_->live);
        for (workload::block& each : objects_)
            each = fresh(random);
    }

    /// Effects: does the work of one thread, from its start to its end.
    void serve(seat& next, workload::random& random, workload::tally& done)
    {
        for (std::size_t step = 0; step != settings_->steps; ++step) {
            workload::block& chosen = objects_[random.below(objects_.size())];
            if (step % 4 != 0 || !next.mail_.try_leave(chosen))
                end(chosen, done);
            chosen = fresh(random);
            if (step % 64 == 0)
                open_mail(done);
        }
    }

    void open_mail(workload::tally& done)
    {
        for (const workload::block& each : mail_.collect())
            end(each, done);
    }

    void clear(workload::tally& done)
    {
        open_mail(done);
        for (const workload::block& each : objects_)
            end(each, done);
    }

private:
    workload::block fresh(workload::random& random) const
    {
        return marks_->allocate(random.size_between(settings_->min_bytes, settings_->max_bytes), random());
    }

    void end(const workload::block& object, workload::tally& done) const
    {
        marks_->free(object);
        done.count(object);
    }

    const settings* settings_;
    const workload::marks* marks_;
    std::vector<workload::block> objects_;
    mailbox mail_;
};
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "server: threads hand off objects, end, and are replaced by others.");
    const std::size_t seats = arguments.number("threads", 8, "at once");
    const settings run_settings{
        arguments.number("lives", 30, "threads on a seat, one after the other"),
        arguments.number("steps", 20000, "of each of them"), arguments.number("live", 1000, "objects on a seat"),
        arguments.number("least", 16, "bytes of an object"), arguments.number("most", 2048, "bytes of an object")};
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    std::deque<seat> all; // Seats do not move.
    for (std::size_t i = 0; i != seats; ++i)
        all.emplace_back(run_settings, marks);
    workload::tally done =
        workload::in_threads(seats, seed, [&](std::size_t me, workload::random& random, workload::tally& thread_tally) {
            all[me].furnish(random);
            for (std::size_t left = run_settings.lives; left != 0; --left)
                test::in_a_thread([&] { all[me].serve(all[(me + 1) % all.size()], random, thread_tally); });
        });
    for (seat& each : all)
        each.clear(done);
    done.print("server");
}
