// SPDX-License-Identifier: Apache-2.0
#include "extender/serving/service.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "extender/decisions.hpp"
#include "extender/pending.hpp"
#include "extender/serving/binder.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::extender {
namespace {

using Answer = ServerOptions::Answer;

// Between two looks whether the caches show what was written.
constexpr std::chrono::milliseconds kSettlePause{20};
// From a filter that leaves no node to the look for room: kube-scheduler's own preemption, if it
// finds victims, is in the caches by then.
constexpr std::chrono::seconds kRoomPause{1};

// The pod as it is once it is bound.
Object bound(const Object& pod, const std::string& node) {
  Value body = pod.body();
  body.set_path({"spec", "nodeName"}, node);
  return Object(std::move(body));
}

// A reason as a label: without what stands in quotes, which names objects.
std::string label_of(const std::string& reason) {
  return reason.substr(0, reason.find(" \""));
}

}  // namespace

struct Service::State : std::enable_shared_from_this<State> {
  explicit State(ServiceOptions service_options)
      : options(std::move(service_options)),
        binder(std::make_shared<Binder>(options.client, options.leadership)) {}

  [[nodiscard]] bool ready() const {
    return on_first_lists && (options.leadership == nullptr || options.leadership->leading());
  }

  // Asks on the controllers' thread, with a view that shows what is pending.
  void decide(const std::function<Result<Value>(Decisions& decisions)>& question,
              const Answer& answer);
  void bind(const BindQuestion& question, std::optional<Object> fetched, const Answer& answer);
  // What the binding needs, or the answer where there is nothing to do.
  struct Prepared {
    std::optional<Binding> binding{};
    std::string error{};
    bool unknown_pod = false;
  };
  Prepared prepare(const View& base, Instant now, const BindQuestion& question,
                   const std::optional<Object>& fetched) ATHANOR_REQUIRES(mutex);
  void fetch(const BindQuestion& question, const Answer& answer);
  void carry_out(Binding binding, const Answer& answer);
  void ended(const Object& pod, const std::vector<Ref>& claims, const BindingResult& result);
  // Forgets what the caches show, soon and until nothing answered is pending: an object that comes
  // and goes between two questions must not count on.
  void settle_soon();
  void filter(const NodesQuestion& question, const Answer& answer);
  void count(const FilterAnswer& answer) const;
  // Preempts for the pod, after a pause and if it still waits, where the hooks alone refused it.
  void make_room_soon(const Object& pod, const FilterAnswer& answer);
  void make_room(const View& base, Instant now, const Object& waiting,
                 std::span<const std::string> nodes);

  ServiceOptions options;
  std::shared_ptr<Binder> binder;
  std::atomic<bool> on_first_lists{false};
  Mutex mutex{};
  bool settling ATHANOR_GUARDED_BY(mutex) = false;  // settle_soon() is under way
  Pending pending ATHANOR_GUARDED_BY(mutex){};
  std::set<std::string> under_way ATHANOR_GUARDED_BY(mutex){};  // uids of pods that are being bound
  // Uids of pods for which a look for room, or the deletion of its victims, is under way.
  std::set<std::string> making_room ATHANOR_GUARDED_BY(mutex){};
  KeptRooms rooms ATHANOR_GUARDED_BY(mutex){};
};

void Service::State::decide(const std::function<Result<Value>(Decisions& decisions)>& question,
                            const Answer& answer) {
  options.inspect([self = shared_from_this(), question, answer](const View& base, Instant now) {
    Result<Value> result = Error::internal("not decided");
    const auto broken = contain([&] {
      const MutexLock lock(self->mutex);
      self->pending.settle(base, now);
      const Overlay overlay(base, self->pending, self->options.indexes);
      Reads reads;
      const View view(overlay, reads);
      self->rooms.settle(view, now);
      Decisions decisions(view, now, self->options.hooks, self->rooms);
      result = question(decisions);
    });
    answer(broken ? Result<Value>(Error::internal(*broken)) : std::move(result));
  });
}

Service::State::Prepared Service::State::prepare(const View& base, Instant now,
                                                 const BindQuestion& question,
                                                 const std::optional<Object>& fetched) {
  pending.settle(base, now);
  const Overlay overlay(base, pending, options.indexes);
  Reads reads;
  const View view(overlay, reads);
  if (under_way.contains(question.uid)) {
    return {.error = "the pod is being bound"};
  }
  auto pod = view.get(api::kPod, {question.ns, question.name});
  if (!pod || pod->uid() != question.uid) {
    if (!fetched) {
      return {.unknown_pod = true};
    }
    pod = fetched;
  }
  if (pod->uid() != question.uid || pod->deleting()) {
    return {.error = fmt::format("pods \"{}\" not found", question.name)};
  }
  if (const std::string bound_to = pod->spec()["nodeName"].str(); !bound_to.empty()) {
    return {.error = bound_to == question.node
                         ? std::string()
                         : fmt::format("pod {}/{} is already assigned to node \"{}\"", question.ns,
                                       question.name, bound_to)};
  }
  const auto node = view.get(api::kNode, {"", question.node});
  if (!node) {
    return {.error = "node not found"};
  }
  rooms.settle(view, now);
  Decisions decisions(view, now, options.hooks, rooms);
  const Result<Plan> plan = decisions.reserve(*pod, *node);
  if (!plan.ok()) {
    return {.error = plan.error().message};
  }
  Binding binding{.pod = *pod, .node = question.node, .steps = plan->steps()};
  for (const Step& step : binding.steps) {
    const Ref* target = target_of(step);
    const auto known = target == nullptr ? std::nullopt : view.get(*target->kind, target->key);
    if (known) {
      binding.known.emplace(*target, *known);
    }
  }
  for (const Step& step : binding.steps) {
    if (const auto* create = std::get_if<Create>(&step)) {
      binding.known.erase(create->target);  // the plan deletes it first
      pending.put(*create->target.kind, Object(create->object));
    }
  }
  pending.put(api::kPod, bound(*pod, question.node));
  under_way.insert(question.uid);
  binding.steps.push_back(binding_of(*pod, question.node));
  return {.binding = std::move(binding)};
}

void Service::State::bind(const BindQuestion& question, std::optional<Object> fetched,
                          const Answer& answer) {
  options.inspect([self = shared_from_this(), question, fetched = std::move(fetched), answer](
                      const View& base, Instant now) {
    Prepared prepared{.error = "not decided"};
    const auto broken = contain([&] {
      const MutexLock lock(self->mutex);
      prepared = self->prepare(base, now, question, fetched);
    });
    if (broken) {
      answer(Error::internal(*broken));
    } else if (prepared.unknown_pod) {
      self->fetch(question, answer);
    } else if (prepared.binding) {
      self->carry_out(*std::move(prepared.binding), answer);
    } else {
      answer(bind_answer(prepared.error));
    }
  });
}

// The scheduler saw the pod earlier than this process.
void Service::State::fetch(const BindQuestion& question, const Answer& answer) {
  client::ApiRequest request;
  request.path = runtime::collection_path(api::kPod, question.ns) + "/" + question.name;
  request.lane = client::Lane::Urgent;
  options.client->send(std::move(request),
                       [weak = weak_from_this(), question, answer](client::ApiResult result) {
                         const auto self = weak.lock();
                         if (!self) {
                           return;
                         }
                         if (result.error) {
                           return answer(bind_answer(result.error->message));
                         }
                         self->bind(question, Object(std::move(result.body)), answer);
                       });
}

void Service::State::carry_out(Binding binding, const Answer& answer) {
  std::vector<Ref> claims;
  for (const Step& step : binding.steps) {
    if (const auto* create = std::get_if<Create>(&step)) {
      claims.push_back(create->target);
    }
  }
  const Object pod = binding.pod;
  const std::string node = binding.node;
  binder->start(std::move(binding), [weak = weak_from_this(), answer, pod, node,
                                     claims](const BindingResult& result) {
    const auto self = weak.lock();
    if (!self) {
      return;
    }
    self->ended(pod, claims, result);
    self->settle_soon();
    if (result.error) {
      log::warn("a pod was not bound",
                {{"pod", pod.key().text()}, {"node", node}, {"error", result.error->message}});
    }
    answer(bind_answer(result.error ? result.error->message : std::string()));
  });
}

// What came of a binding counts until the caches show it.
void Service::State::ended(const Object& pod, const std::vector<Ref>& claims,
                           const BindingResult& result) {
  const MutexLock lock(mutex);
  const Instant until = options.clock->now() + kPendingLife;
  under_way.erase(std::string(pod.uid()));
  for (const Ref& claim : claims) {
    if (std::ranges::find(result.left, claim) == result.left.end()) {
      pending.erase(*claim.kind, claim.key);
    } else {
      pending.until(*claim.kind, claim.key, until);
    }
  }
  if (result.error) {
    pending.erase(api::kPod, pod.key());
  } else {
    pending.until(api::kPod, pod.key(), until);
  }
}

void Service::State::settle_soon() {
  {
    const MutexLock lock(mutex);
    if (std::exchange(settling, true)) {
      return;
    }
  }
  options.client->post_at(std::chrono::steady_clock::now() + kSettlePause,
                          [weak = weak_from_this()] {
                            const auto self = weak.lock();
                            if (!self) {
                              return;
                            }
                            self->options.inspect([weak](const View& base, Instant now) {
                              const auto state = weak.lock();
                              if (!state) {
                                return;
                              }
                              bool more = false;
                              {
                                const MutexLock lock(state->mutex);
                                state->settling = false;
                                state->pending.settle(base, now);
                                more = state->pending.answered();
                              }
                              if (more) {
                                state->settle_soon();
                              }
                            });
                          });
}

void Service::State::make_room_soon(const Object& pod, const FilterAnswer& answer) {
  if (!options.preempts || !answer.passed.empty() || answer.failed.empty()) {
    return;
  }
  const MutexLock lock(mutex);
  if (!making_room.insert(std::string(pod.uid())).second) {
    return;
  }
  std::vector<std::string> nodes;
  nodes.reserve(answer.failed.size());
  for (const auto& [node, reason] : answer.failed) {
    nodes.push_back(node);
  }
  options.client->post_at(
      std::chrono::steady_clock::now() + kRoomPause,
      [weak = weak_from_this(), pod, nodes = std::move(nodes)] {
        const auto self = weak.lock();
        if (!self) {
          return;
        }
        self->options.inspect([weak, pod, nodes](const View& base, Instant now) {
          if (const auto state = weak.lock()) {
            state->make_room(base, now, pod, nodes);
          }
        });
      });
}

void Service::State::make_room(const View& base, Instant now, const Object& waiting,
                               std::span<const std::string> nodes) {
  std::optional<Room> room;
  std::optional<Object> pod;
  const auto broken = contain([&] {
    const MutexLock lock(mutex);
    pending.settle(base, now);
    const Overlay overlay(base, pending, options.indexes);
    Reads reads;
    const View view(overlay, reads);
    pod = view.get(api::kPod, waiting.key());
    const bool waits = pod && pod->uid() == waiting.uid() && !pod->deleting() &&
                       pod->spec()["nodeName"].as_string().empty() &&
                       pod->status()["nominatedNodeName"].as_string().empty();
    if (waits && ready()) {
      room = Decisions(view, now, options.hooks, rooms).make_room(*pod, nodes);
      if (room) {
        rooms.keep(*pod, *room, now);
      }
    }
  });
  const std::string uid(waiting.uid());
  if (broken || !room) {
    const MutexLock lock(mutex);
    making_room.erase(uid);
    return;
  }
  const auto left = std::make_shared<std::size_t>(room->victims.size());  // client's thread alone
  for (const Object& victim : room->victims) {
    log::info(
        "a pod is preempted",
        {{"pod", victim.key().text()}, {"node", room->node}, {"preemptor", pod->key().text()}});
    binder->start({.pod = victim,
                   .node = room->node,
                   .steps = eviction_steps(victim, *pod, room->node, now),
                   .known = {{Ref{&api::kPod, victim.key()}, victim}}},
                  [weak = weak_from_this(), left, uid, victim](const BindingResult& result) {
                    if (result.error) {
                      log::warn("a pod was not preempted",
                                {{"pod", victim.key().text()}, {"error", result.error->message}});
                    }
                    const auto self = weak.lock();
                    if (!self) {
                      return;
                    }
                    const MutexLock lock(self->mutex);
                    if (result.error) {
                      self->rooms.drop(uid);
                    }
                    if (--*left == 0) {
                      self->making_room.erase(uid);
                    }
                  });
  }
}

void Service::State::filter(const NodesQuestion& question, const Answer& answer) {
  const auto filtered = std::make_shared<FilterAnswer>();
  decide(
      [self = shared_from_this(), question, filtered](Decisions& decisions) {
        *filtered = decisions.filter(question);
        self->count(*filtered);
        return Result<Value>(to_value(*filtered, question));
      },
      [self = shared_from_this(), pod = question.pod, filtered, answer](Result<Value> value) {
        answer(std::move(value));
        self->make_room_soon(pod, *filtered);
      });
}

void Service::State::count(const FilterAnswer& answer) const {
  if (options.metrics == nullptr) {
    return;
  }
  for (const auto* reasons : {&answer.failed, &answer.unresolvable}) {
    for (const auto& [node, reason] : *reasons) {
      options.metrics
          ->counter("athanor_extender_rejections_total", "Nodes that a filter refused, by reason.",
                    {{"reason", label_of(reason)}})
          .add();
    }
  }
}

Service::Service(ServiceOptions options) : state_(std::make_shared<State>(std::move(options))) {}

Service::~Service() = default;

void Service::on_first_lists() {
  state_->on_first_lists = true;
}

bool Service::ready() const {
  return state_->ready();
}

void Service::ask(Verb verb, const Value& body, const Answer& answer) {
  if (!state_->ready()) {
    return answer(Error::unavailable(
        state_->on_first_lists
            ? "this replica does not lead; ask the one that does"
            : "this replica does not lead, or has not seen the whole cluster yet"));
  }
  switch (verb) {
    case Verb::Filter:
    case Verb::Prioritize: {
      auto question = read_nodes_question(body);
      if (!question.ok()) {
        return answer(question.error());
      }
      return verb == Verb::Filter
                 ? state_->filter(*question, answer)
                 : state_->decide(
                       [question = *std::move(question)](Decisions& decisions) {
                         return Result<Value>(to_value(decisions.prioritize(question)));
                       },
                       answer);
    }
    case Verb::Bind: {
      const auto question = read_bind_question(body);
      return question.ok() ? state_->bind(*question, std::nullopt, answer)
                           : answer(question.error());
    }
    case Verb::Preempt: {
      auto question = read_preempt_question(body);
      if (!question.ok()) {
        return answer(question.error());
      }
      return state_->decide(
          [question = *std::move(question)](Decisions& decisions) {
            return Result<Value>(preempt_answer(decisions.preempt(question)));
          },
          answer);
    }
  }
}

}  // namespace athanor::extender
