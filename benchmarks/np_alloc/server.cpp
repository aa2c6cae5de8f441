// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A server: each seat has a table of objects. Its thread takes work, replaces objects, and hands some on to the next
// seat, whose thread frees them. After a while the thread ends, and another one takes over the seat with all its
// objects.
#include "workload.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace {
struct settings
{
    std::size_t lives; ///< Threads on a seat, one after the other.
    std::size_t steps; ///< That each of them takes.
    std::size_t live;  ///< Objects on a seat.
    std::size_t least;
    std::size_t most;
};

/// Where other threads leave objects for a seat. Bounded: otherwise the memory in use would depend on the scheduler.
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
    seat(const settings& its, const workload::marks& marks) : its_(&its), marks_(&marks) {}

    void furnish(workload::random& random)
    {
        objects_.resize(its_->live);
        for (workload::block& each : objects_)
            each = fresh(random);
    }

    /// Effects: what one thread does from its start to its end.
    void serve(seat& next, workload::random& random, workload::tally& done)
    {
        for (std::size_t step = 0; step != its_->steps; ++step) {
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
        return marks_->allocate(random.size_between(its_->least, its_->most), random());
    }

    void end(const workload::block& object, workload::tally& done) const
    {
        marks_->free(object);
        done.count(object);
    }

    const settings* its_;
    const workload::marks* marks_;
    std::vector<workload::block> objects_;
    mailbox mail_;
};
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "server: threads hand objects on, end, and are replaced by others.");
    const std::size_t seats = arguments.number("threads", 8, "at once");
    const settings its{
        arguments.number("lives", 30, "threads on a seat, one after the other"),
        arguments.number("steps", 20000, "of each of them"), arguments.number("live", 1000, "objects on a seat"),
        arguments.number("least", 16, "bytes of an object"), arguments.number("most", 2048, "bytes of an object")};
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    std::deque<seat> all; // Seats do not move.
    for (std::size_t i = 0; i != seats; ++i)
        all.emplace_back(its, marks);
    workload::tally done =
        workload::in_threads(seats, seed, [&](std::size_t me, workload::random& random, workload::tally& its_own) {
            all[me].furnish(random);
            for (std::size_t left = its.lives; left != 0; --left)
                test::in_a_thread([&] { all[me].serve(all[(me + 1) % all.size()], random, its_own); });
        });
    for (seat& each : all)
        each.clear(done);
    done.print("server");
}
