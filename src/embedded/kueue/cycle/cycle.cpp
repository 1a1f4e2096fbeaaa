// SPDX-License-Identifier: Apache-2.0
// Rounds of heads: nominate, order, settle.
#include "embedded/kueue/cycle/cycle.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/cycle/entry_order.hpp"
#include "embedded/kueue/cycle/flavor_assigner.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/line.hpp"
#include "embedded/kueue/cycle/max_wait.hpp"
#include "embedded/kueue/cycle/preempting.hpp"
#include "embedded/kueue/cycle/requests.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/cycle/workload_status.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/model/reasons.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::kueue {
namespace {

// How soon readiness is looked at again while it holds admission back.
constexpr Duration kLookAgain = std::chrono::seconds(1);

// How long a write that the API server refused is not tried again.
constexpr Duration kTryAgain = std::chrono::seconds(10);

struct Nominee {
  Line* line = nullptr;
  std::vector<PodSetRequests> requests{};
  Assignment assignment{};
  std::vector<Target> targets{};
  CellAmounts usage{};
  bool preempting = false;  // an earlier run preempted for it: its victims are going, or are gone
};

// A head without preemption candidates that comes first again in every round, for its queue is
// StrictFIFO or it waits for longer than it may: it reserves in its turn.
struct StandingHead {
  const ClusterQueue* queue = nullptr;
  QueueOrder order{};
  int borrow_height = 0;
  CellAmounts usage{};
};

// The turn of a queue in a round: its standing heads reserve, then its nominee is settled.
struct Turn {
  const ClusterQueue* queue = nullptr;
  int borrow_height = 0;
  QueueOrder order{};
  const CellAmounts* usage = nullptr;
  Nominee* nominee = nullptr;  // null: the queue has none in this round
  std::vector<const StandingHead*> standing{};
};

// Why the workloads of a shape wait, some of them with another message.
struct Report {
  Shape* shape = nullptr;
  Waits why = Waits::Evaluation;
  std::string text{};
  std::string digest{};
  std::vector<PodSetRequests> requests{};
};

bool is_lock(const Object& workload) {
  return !workload.label(kLockLabel).empty();
}

// Why the head waits, in the words of the granular profile.
Waits why_waits(const Assignment& assignment) {
  bool too_large = false;
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    for (const Reason& reason : pod_set.reasons) {
      if (reason.why == Reason::Why::NoneFree && assignment.mode != Mode::NoFit) {
        return Waits::Quota;
      }
      too_large =
          too_large || reason.why == Reason::Why::NoCapacity || reason.why == Reason::Why::NoneFree;
    }
  }
  return too_large ? Waits::TooLarge : Waits::NoFlavor;
}

// One run. Invariants:
//   - every decision uses quota_: what the view counts as in use, plus what this run admitted
//     (take), promised to preemptors (promised_), keeps for a lock (withheld_) and, until a
//     round ends, for heads without candidates: those that are dropped (reserved_), and those that
//     stand, from their turn in each round on (kept_). Nothing becomes free within a run:
//     freed quota arrives as a change of the view, with a run of its own;
//   - so a head that was refused stays refused in this run, with all of its shape, and a round
//     either drops a shape, takes a head or blocks a line, or the head lost its room to an entry
//     settled earlier in the same round, or to what one that was dropped then reserved for the
//     round, or is blocked by what earlier rounds promised: the rounds end;
//   - the order of a round is fixed before its first entry is settled (with fair sharing: share by
//     share); who waits for its own preemptions comes before all others, so that no victim takes
//     the quota back before its preemptor was tried. While victims are there, this does not depend
//     on the messages of earlier cycles, and a preemptor that loses to another one keeps its
//     message: else two of them take turns for ever, each cycle with a write;
//   - a workload is a target of at most one preemptor (preempted_), and is released in quota_ only
//     while an entry is checked: still_fits() leaves quota_ as it found it;
//   - what is noted about a shape is written at the end, behind all decisions (write_reports);
//   - a write that the API server refused a short while ago is not tried again before kTryAgain;
//   - whom to preempt is decided in view of all that hold quota: a run that has admitted ends
//     before the first round that would preempt;
//   - a run ends once its plan has most_steps_ steps, those that the engine carries out: the next
//     run decides the rest from what this one did;
//   - with no waiting workload nothing but the index of waiting workloads is read, so no change of
//     quota starts a run.
class Cycle {
 public:
  Cycle(const View& view, Instant now, WaitMessages messages, std::size_t most_steps)
      : view_(view), now_(now), messages_(messages), most_steps_(most_steps) {}

  Plan run() {
    const Value config = configured_section(view_);
    timestamp_ = config["requeueTimestamp"].as_string() == "Creation" ? RequeueTimestamp::Creation
                                                                      : RequeueTimestamp::Eviction;
    std::vector<WaitingShape> shapes = waiting_shapes(view_, timestamp_);
    if (shapes.empty()) {
      return std::move(plan_);  // and nothing else was read: no change of quota wakes it
    }
    settings_ = api::decode<Settings>(config);
    queues_ = read_queues(view_);
    quota_ = queues_->quota;
    count_usage(*queues_, quota_, view_);
    preempting_ = std::make_unique<Preempting>(view_, *queues_, quota_, settings_);
    for (WaitingShape& waiting : shapes) {
      if (is_candidate(waiting.shape)) {
        enqueue(waiting);
      }
    }
    withhold();
    while (!is_full() && !looks_again_ &&
           std::ranges::any_of(lines_, [](const auto& entry) { return entry.second.has_head(); })) {
      one_round();
    }
    write_reports();
    return std::move(plan_);
  }

 private:
  using Kept = std::vector<std::tuple<QuotaTree::NodeId, QuotaTree::CellId, Amount>>;

  [[nodiscard]] bool is_full() const { return plan_.steps().size() >= most_steps_; }

  // Is neither held back by an annotation nor backing off.
  bool is_candidate(Shape& shape) {
    const Object& workload = *shape.head();
    if (const std::string_view gate = workload.annotation(kGatedBy); !gate.empty()) {
      report_shape(shape, Waits::Gated,
                   [&] { return fmt::format("Admission is gated by: {}", gate); }, {});
      return false;
    }
    if (condition_is(workload.status()["conditions"], "Requeued", "False")) {
      return false;
    }
    if (const auto at = parse_time(workload.status().at({"requeueState", "requeueAt"}).as_string());
        at && *at > now_) {
      plan_.wake_at(*at);
      return false;
    }
    return true;
  }

  void enqueue(WaitingShape& waiting) {
    const Key& key = waiting.local_queue;
    const auto inadmissible = [&](Waits why, const std::string& message) {
      report_shape(waiting.shape, why, [&] { return message; }, {});
    };
    const auto local = queues_->local_queues.find(key);
    if (local == queues_->local_queues.end()) {
      inadmissible(Waits::NoQueue, fmt::format("LocalQueue {} doesn't exist", key.name));
      return;
    }
    if (local->second.stopped) {
      inadmissible(Waits::QueueStopped, fmt::format("LocalQueue {} is inactive", key.name));
      return;
    }
    const std::string& name = local->second.cluster_queue;
    const auto queue = queues_->cluster_queues.find(name);
    if (queue == queues_->cluster_queues.end()) {
      inadmissible(Waits::NoQueue, fmt::format("ClusterQueue {} doesn't exist", name));
      return;
    }
    if (!queue->second.active()) {
      inadmissible(Waits::QueueStopped, fmt::format("ClusterQueue {} is inactive", name));
      return;
    }
    lines_.try_emplace(name, queue->second, timestamp_).first->second.add(std::move(waiting.shape));
  }

  // Notes why a shape waits, for write_reports; FirstOnly: writes it to workloads with no message.
  template <class Message>
  void report_shape(Shape& shape, Waits why, const Message& message,
                    const std::vector<PodSetRequests>& requests) {
    const bool granular = settings_.granular();
    if (messages_ == WaitMessages::FirstOnly) {
      if (shape.has_message()) {
        return;
      }
      // One text for all: workloads with different messages are groups of their own.
      const std::string text(kWaits);
      for (const Object& workload : shape.without_message()) {
        add_pending(plan_, workload, {.why = why, .granular = granular}, text, requests, now_);
      }
      return;
    }
    std::string text = message();
    std::string digest =
        message_digest(reason_of(why, granular), cut(text, kConditionMessageLimit));
    if (shape.has_other_message(digest)) {
      reports_.push_back({&shape, why, std::move(text), std::move(digest), requests});
    }
  }

  // A run that admits or preempts changes the missing amounts of all that wait, and the change of
  // quota that it makes starts the next run: until a run finds nothing to decide, only the first
  // workload of a shape is written, and those whose message is due.
  void write_reports() {
    const bool whole = !decided_ || writes_all(now_);
    for (Report& report : reports_) {
      if (is_full()) {
        return;
      }
      const auto write = [&](const Object& workload) {
        if (!is_full()) {
          add_pending(plan_, workload, {.why = report.why, .granular = settings_.granular()},
                      report.text, report.requests, now_);
        }
      };
      if (whole) {
        std::ranges::for_each(report.shape->with_other_message(report.digest), write);
        continue;
      }
      if (const Object* head = report.shape->head(); head != nullptr && !is_message_due(*head)) {
        write(*head);
      }
      std::ranges::for_each(report.shape->with_due_message(report.digest), write);
      plan_.wake_at(now_ + kLookAgain);
    }
  }
  // Bounds how old a message becomes while every run decides something: by its instant, one run of
  // so many writes all.
  static bool writes_all(Instant now) {
    constexpr std::int64_t kOneOf = 16;
    return std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count() % kOneOf ==
           0;
  }
  void report_head(Line& line, Waits why, const std::string& message,
                   const std::vector<PodSetRequests>& requests) {
    add_pending(plan_, line.head(), {.why = why, .granular = settings_.granular()}, message,
                requests, now_);
  }

  // Keeps the free quota of a flavor for the lock that waits for all of it; workloads behind the
  // lock preempt none.
  void withhold() {
    for (auto& [name, line] : lines_) {
      for (Shape& shape : line.shapes()) {
        if (const Object* head = shape.head(); head != nullptr && is_lock(*head)) {
          withhold(line, *head);
        }
      }
    }
  }
  void withhold(const Line& line, const Object& lock) {
    const QuotaTree::NodeId node = line.queue().node;
    const std::string flavor(lock.label(kLockLabel));
    for (const PodSetRequests& pod_set : pod_set_requests(lock, Value())) {
      for (const auto& [resource, amount] : pod_set.total) {
        const FlavorResource cell{flavor, resource};
        const Amount free = quota_.available(node, cell);
        if (free > 0) {
          quota_.add_usage(node, cell, free);
          withheld_[{node, cell}] += free;
        }
        if (const auto known = quota_.find(flavor, resource)) {
          preempting_->bar(*known);
        }
      }
    }
  }
  // Back again, for the lock at the head of the line.
  void let_through(Line& line) {
    const std::string flavor(line.head().label(kLockLabel));
    std::erase_if(withheld_, [&](const auto& entry) {
      const auto& [node, cell] = entry.first;
      if (node != line.queue().node || cell.flavor != flavor) {
        return false;
      }
      quota_.add_usage(node, cell, -entry.second);
      return true;
    });
  }

  // One cycle of the reference: the head of every queue, in entry order (7.4).
  void one_round() {
    std::vector<Nominee> nominees;
    took_ = false;
    // What was promised in earlier rounds takes the place of quota that is not free yet, so neither
    // is counted where flavors are chosen; still_fits() counts both.
    count_promises(-1);
    for (auto& [name, line] : lines_) {
      if (line.has_head()) {
        nominate(line, nominees);
      }
    }
    count_promises(1);
    // What this run admitted is no target yet, and would often be the first one, as the youngest:
    // the next run chooses among all.
    looks_again_ = admitted_ > 0 && std::ranges::any_of(nominees, has_new_targets);
    if (looks_again_) {
      return;
    }
    const auto others = std::ranges::stable_partition(nominees, &Nominee::preempting).begin();
    const std::vector<StandingHead> standing = standing_;  // this round's own join it later
    settle_in_order({nominees.begin(), others}, {});
    settle_in_order({others, nominees.end()}, standing);
    for (auto* reservations : {&reserved_, &kept_}) {
      for (const auto& [node, cell, amount] : *reservations) {
        quota_.add_usage(node, cell, -amount);
      }
      reservations->clear();
    }
  }

  // Returns true for one that preempts whom nobody has preempted before.
  static bool has_new_targets(const Nominee& nominee) {
    return std::ranges::any_of(nominee.targets,
                               [](const Target& target) { return !target.held->evicted; });
  }

  void nominate(Line& line, std::vector<Nominee>& nominees) {
    if (const auto [why, problem] = ineligible(line); !problem.empty()) {
      refuse(line, why != Waits::Namespace, why, [&, &text = problem] { return text; }, {});
      return;
    }
    const bool lock = is_lock(line.head());
    if (lock) {
      let_through(line);
    }
    Nominee nominee{.line = &line, .requests = rules_.requests(line.head())};
    Preempting::Result result = preempting_->nominate(preemptor_of(line), nominee.requests, lock);
    if (lock && !result.admits()) {
      withhold(line, line.head());
    }
    if (decided_ && result.admits() && result.assignment.is_partial(nominee.requests)) {
      // Whom to preempt for all of its pods depends on what this run decided: the next run sees
      // that.
      line.block();
      return;
    }
    nominee.assignment = std::move(result.assignment);
    nominee.targets = std::move(result.targets);
    nominee.preempting =
        nominee.targets.empty()
            ? nominee.assignment.mode == Mode::Fit && awaits_preemption(line.head())
            : std::ranges::all_of(nominee.targets,
                                  [](const Target& target) { return target.held->evicted; });
    nominee.usage = nominee.assignment.usage(quota_);
    nominees.push_back(std::move(nominee));
  }

  // Settles the nominees, and reserves for the standing heads, each queue in its turn (7.4).
  void settle_in_order(std::span<Nominee> nominees, std::span<const StandingHead> standing) {
    const std::vector<Turn> turns = turns_of(nominees, standing);
    const auto have = [&](const Turn& turn) {
      for (const StandingHead* head : turn.standing) {
        keep(*head->queue, head->usage, head->borrow_height > 0, kept_);
      }
      if (turn.nominee != nullptr) {
        settle(*turn.nominee);
      }
    };
    if (settings_.fair_sharing) {
      std::vector<Entry> entries;
      entries.reserve(turns.size());
      for (const Turn& turn : turns) {
        entries.push_back({.queue = turn.queue, .usage = *turn.usage, .order = turn.order});
      }
      FairOrder order(*queues_, quota_, preempting_->shares(), std::move(entries));
      for (auto next = order.next(); next && !is_full(); next = order.next()) {
        have(turns[*next]);
      }
      return;
    }
    for (const Turn& turn : turns) {
      if (is_full()) {
        return;
      }
      have(turn);
    }
  }

  // One for each queue, by borrowing and the order of their first heads.
  static std::vector<Turn> turns_of(std::span<Nominee> nominees,
                                    std::span<const StandingHead> standing) {
    std::vector<Turn> turns;
    turns.reserve(nominees.size() + standing.size());
    for (Nominee& nominee : nominees) {
      turns.push_back({.queue = &nominee.line->queue(),
                       .borrow_height = nominee.assignment.borrow_height,
                       .order = nominee.line->order(),
                       .usage = &nominee.usage,
                       .nominee = &nominee});
    }
    for (const StandingHead& head : standing) {
      auto turn = std::ranges::find(turns, head.queue, &Turn::queue);
      if (turn == turns.end()) {
        turn = turns.insert(turn, {.queue = head.queue,
                                   .borrow_height = head.borrow_height,
                                   .order = head.order,
                                   .usage = &head.usage});
      }
      turn->standing.push_back(&head);
    }
    std::ranges::stable_sort(turns, [](const Turn& one, const Turn& other) {
      return std::tie(one.borrow_height, one.order) < std::tie(other.borrow_height, other.order);
    });
    return turns;
  }

  void settle(Nominee& nominee) {
    Line& line = *nominee.line;
    const bool fits_as_it_is = nominee.assignment.mode == Mode::Fit;
    if (!fits_as_it_is && nominee.targets.empty()) {
      wait_on(nominee);
      return;
    }
    if (takes_what_is_kept(nominee)) {
      line.drop_shape();  // without a message, as all behind a head of StrictFIFO
      return;
    }
    if (!still_fits(nominee)) {
      if ((fits_as_it_is && took_) || !reserved_.empty()) {
        // Lost to an earlier entry of this round, which is settled, or has given up what it
        // reserved: considered again in the next.
        return;
      }
      if (awaits_preemption(line.head())) {
        line.block();  // its message stays
      } else {
        lose(nominee, "Workload no longer fits after processing another workload");
      }
      return;
    }
    if (!fits_as_it_is) {
      preempt(nominee);
      return;
    }
    if (must_wait_for_pods()) {
      plan_.wake_at(now_ + kLookAgain);
      report_head(line, Waits::PodsReady,
                  "waiting for all admitted workloads to be in PodsReady condition",
                  nominee.requests);
      line.block();
      return;
    }
    admit(nominee);
  }

  void admit(const Nominee& nominee) {
    Line& line = *nominee.line;
    Plan steps =
        admission(line.head(),
                  {.queue = line.queue(),
                   .assignment = nominee.assignment,
                   .considered = preempting_->considered(preemptor_of(line), nominee.requests,
                                                         nominee.assignment, is_lock(line.head())),
                   .granular = settings_.granular()},
                  now_);
    if (const auto error = refused_lately(steps.steps().front())) {
      report_head(line, Waits::Evaluation,
                  fmt::format("Failed to admit workload: {}", error->message), nominee.requests);
      if (line.queue().strict_fifo) {
        line.block();
      } else {
        line.take();
      }
      return;
    }
    take(nominee);
    plan_.merge(std::move(steps));
    ++admitted_;
    decided_ = true;
    line.take();
  }

  // Why the API server refused this write a short while ago.
  std::optional<Error> refused_lately(const Step& write) {
    if (!refused(view_, write)) {
      return std::nullopt;
    }
    Observed answer = view_.observe(refusal_query(write), Duration::max());
    if (now_ - answer.at >= kTryAgain) {
      return std::nullopt;
    }
    plan_.wake_at(answer.at + kTryAgain);
    return std::move(answer.error);
  }

  static Preemptor preemptor_of(const Line& line) {
    const auto& [priority, queued, uid] = line.order();
    return {.queue = &line.queue(), .priority = -priority, .queued = queued};
  }

  // No flavor fits, and preemption makes no room.
  void wait_on(const Nominee& nominee) {
    Line& line = *nominee.line;
    const bool overdue = is_overdue(*queues_, line.head(), now_);
    reserve(nominee, line.queue().strict_fifo || overdue);
    const auto message = [&] { return nominee.assignment.message(); };
    const Waits why = why_waits(nominee.assignment);
    if (line.queue().strict_fifo && line.queue().strict_per_flavor) {
      line.keep_flavors(flavors_in_question(nominee.assignment));
      refuse(line, false, why, message, nominee.requests);
    } else if (overdue && !line.queue().strict_fifo && waits_for_others(nominee.assignment)) {
      report_shape(line.shape(), why, message, nominee.requests);
      line.block();
    } else {
      refuse(line, true, why, message, nominee.requests);
    }
  }

  // The flavors that it could be given once they are free.
  static std::set<std::string> flavors_in_question(const Assignment& assignment) {
    std::set<std::string> flavors;
    for (const PodSetAssignment& pod_set : assignment.pod_sets) {
      for (const Reason& reason : pod_set.reasons) {
        if (reason.why == Reason::Why::NoneFree) {
          flavors.emplace(reason.flavor);
        }
      }
    }
    return flavors;
  }
  // Whether a head of the same queue before it waits for one of its flavors.
  static bool takes_what_is_kept(const Nominee& nominee) {
    return std::ranges::any_of(nominee.assignment.pod_sets, [&](const PodSetAssignment& pod_set) {
      return std::ranges::any_of(
          pod_set.flavors, [&](const auto& entry) { return nominee.line->keeps(entry.second); });
    });
  }

  void count_promises(Amount sign) {
    for (const auto& [node, cell, amount] : promised_) {
      quota_.add_usage(node, cell, sign * amount);
    }
  }
  void take(const Nominee& nominee) {
    took_ = true;
    for (const auto& [cell, amount] : nominee.usage) {
      quota_.add_usage(nominee.line->queue().node, cell, amount);
    }
  }

  // Whether it has room once all that is being preempted is gone; and who is admitted now, before
  // that, has it already.
  bool still_fits(const Nominee& nominee) {
    const auto each_gone = [&](const auto& act) {
      for (const auto& [uid, held] : preempted_) {
        act(quota_, *held);
      }
      for (const Target& target : nominee.targets) {
        if (!preempted_.contains(target.held->object.uid())) {
          act(quota_, *target.held);
        }
      }
    };
    each_gone(release);
    const bool fit = fits(quota_, nominee.line->queue(), nominee.usage, true);
    each_gone(restore);
    return fit && (!nominee.targets.empty() || fits_with_preempted(nominee));
  }
  bool fits_with_preempted(const Nominee& nominee) {
    count_promises(-1);
    const bool fit = fits(quota_, nominee.line->queue(), nominee.usage, true);
    count_promises(1);
    return fit;
  }

  void preempt(const Nominee& nominee) {
    Line& line = *nominee.line;
    const bool overlaps = std::ranges::any_of(nominee.targets, [&](const Target& target) {
      return preempted_.contains(target.held->object.uid());
    });
    if (overlaps) {
      lose(nominee, "Workload has overlapping preemption targets with another workload");
      return;
    }
    take(nominee);
    for (const auto& [cell, amount] : nominee.usage) {
      promised_.emplace_back(line.queue().node, cell, amount);
    }
    std::size_t failed = 0;
    for (const Target& target : nominee.targets) {
      preempted_.emplace(target.held->object.uid(), target.held);
      if (target.held->evicted) {
        continue;
      }
      Plan steps = preemption(*queues_, line.head(), line.queue(), target, now_);
      if (refused_lately(steps.steps().front())) {
        ++failed;
      } else {
        plan_.merge(std::move(steps));
        decided_ = true;
      }
    }
    std::string message = nominee.assignment.message();
    if (failed < nominee.targets.size()) {
      message +=
          fmt::format("{}{} workload(s)", kPendingPreemption, nominee.targets.size() - failed);
    }
    if (failed > 0) {
      message += fmt::format(". Preempting {} workload(s) failed, will retry.", failed);
    }
    report_head(line, Waits::Preemption, message, nominee.requests);
    line.block();
  }

  // The head stays where it is, before those behind it.
  void lose(const Nominee& nominee, const std::string& message) {
    report_head(*nominee.line, Waits::Quota, message, nominee.requests);
    nominee.line->block();
  }

  // Reserves what a workload without preemption candidates would take against those after it in
  // the round (7.7); a head that `stands` (StrictFIFO, where it comes first again in the next
  // round) does so in each round.
  void reserve(const Nominee& nominee, bool stands) {
    const ClusterQueue& queue = nominee.line->queue();
    if (nominee.assignment.mode != Mode::NoPreemptionCandidates ||
        (queue.reclaim == PreemptionPolicy::Any && !awaits_preemption(nominee.line->head()))) {
      return;
    }
    const int height = nominee.assignment.borrow_height;
    keep(queue, nominee.usage, height > 0, stands ? kept_ : reserved_);
    if (stands) {
      standing_.push_back({.queue = &queue,
                           .order = nominee.line->order(),
                           .borrow_height = height,
                           .usage = nominee.usage});
    }
  }
  // Counts this use as taken within the queue's limit, and notes it in `kept`. A workload that does
  // not borrow keeps within its queue's own quota.
  void keep(const ClusterQueue& queue, const CellAmounts& usage, bool borrows, Kept& kept) {
    for (const auto& [cell, amount] : usage) {
      const std::optional<Amount> above =
          borrows ? quota_.borrowing_limit(queue.node, cell) : std::optional<Amount>(0);
      const Amount own = quota_.nominal(queue.node, cell) - quota_.usage(queue.node, cell);
      const Amount part = above ? std::max<Amount>(0, std::min(amount, own + *above)) : amount;
      if (part > 0) {
        quota_.add_usage(queue.node, cell, part);
        kept.emplace_back(queue.node, cell, part);
      }
    }
  }

  // With blockAdmission one is admitted after the other is ready (8.5).
  bool must_wait_for_pods() {
    if (!settings_.wait_for_pods_ready || !settings_.block_admission) {
      return false;
    }
    return admitted_ > 0 || view_.count(api::kueue::kWorkload, not_ready()) > 0;
  }

  // The head stays pending, and with it all of its shape: nothing becomes free within a cycle.
  // Under StrictFIFO those behind it wait without being considered (7.2).
  template <class Message>
  void refuse(Line& line, bool may_block, Waits why, const Message& message,
              const std::vector<PodSetRequests>& requests) {
    // With FirstOnly, replaces the message of one that waited for preemptions.
    const bool stale = messages_ == WaitMessages::FirstOnly && awaits_preemption(line.head());
    if (line.queue().strict_fifo && may_block) {
      const Value& conditions = line.head().status()["conditions"];
      if (stale || messages_ == WaitMessages::Current ||
          find_condition(conditions, "QuotaReserved").is_null()) {
        report_head(line, why,
                    messages_ == WaitMessages::FirstOnly ? std::string(kWaits) : message(),
                    requests);
      }
      line.block();
      return;
    }
    if (stale) {
      report_head(line, why, std::string(kWaits), requests);
    }
    report_shape(line.shape(), why, message, requests);
    line.drop_shape();
  }

  // The first rule of 7.3 that speaks against the head; no text when none does.
  std::pair<Waits, std::string> ineligible(Line& line) {
    const Object& workload = line.head();
    for (const Value& check : workload.status()["admissionChecks"].items()) {
      const std::string_view state = check["state"].as_string();
      if (state == "Retry" || state == "Rejected") {
        return {Waits::Evaluation, "The workload has failed admission checks"};
      }
    }
    const auto ns = view_.get(api::kNamespace, {"", std::string(workload.ns())});
    if (!ns) {
      return {Waits::Request,
              fmt::format("Could not obtain workload namespace: namespaces \"{}\" not found",
                          workload.ns())};
    }
    if (!line.queue().namespaces.matches(ns->metadata()["labels"])) {
      return {Waits::Namespace,
              fmt::format("{}orkload namespace doesn't match ClusterQueue selector",
                          settings_.granular() ? "w" : "W")};
    }
    return {Waits::Request, rules_.problem(workload)};
  }

  static constexpr std::string_view kWaits = "The workload waits";

  const View& view_;
  Instant now_;
  WaitMessages messages_;
  std::size_t most_steps_;
  Settings settings_{};
  RequeueTimestamp timestamp_ = RequeueTimestamp::Eviction;
  std::shared_ptr<const Snapshot> queues_{};
  QuotaTree quota_{};  // with what is in use
  std::unique_ptr<Preempting> preempting_{};
  RequestRules rules_{view_, settings_};
  Plan plan_{};
  std::map<std::string, Line> lines_{};
  std::map<std::pair<QuotaTree::NodeId, FlavorResource>, Amount> withheld_{};
  Kept reserved_{};
  Kept kept_{};
  Kept promised_{};
  std::vector<StandingHead> standing_{};
  std::map<std::string, const Held*, std::less<>> preempted_{};  // by uid
  int admitted_ = 0;
  bool decided_ = false;      // this run admits or preempts
  bool took_ = false;         // this round does
  bool looks_again_ = false;  // the rest is for the next run, which sees what this one admits
  std::vector<Report> reports_{};
};

}  // namespace

Plan run_cycle(const View& view, Instant now, WaitMessages messages, std::size_t most_steps) {
  return Cycle(view, now, messages, most_steps).run();
}

}  // namespace athanor::kueue
