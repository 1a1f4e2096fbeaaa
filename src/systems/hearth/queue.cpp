// SPDX-License-Identifier: Apache-2.0
// The one writer of the ClusterQueue (docs/spec/hearth.md 8.4, 8.5): what all clusters want goes
// into one write, guarded by the version that was seen, so that no edit is lost. Which slots
// are open is decided here as well: cordons (8.6), locks that wait (9.5), clusters on their way
// out.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/ascii.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "systems/hearth/cluster.hpp"
#include "systems/hearth/flavor.hpp"
#include "systems/hearth/gpus.hpp"
#include "systems/hearth/lock.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/offboard.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/quota.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {
namespace {

// What comes within that time goes into one write (X3).
constexpr Duration kWindow = std::chrono::milliseconds(100);
// Another writer removes our entries again and again (8.5).
constexpr Duration kRepairMemory = std::chrono::minutes(10);
constexpr Duration kFightPause = std::chrono::minutes(5);

// One cluster, as far as the queue is concerned.
struct Entry {
  api::FournosCluster cluster{};
  QuotaWish wish{};
  bool judged = false;  // its condition is settled without the queue
  std::optional<Condition> verdict{};
  bool closed = false;                 // wish.slots holds the door
  std::optional<std::int64_t> kept{};  // the annotation: what the slots are when it is open
  std::vector<Instant> repairs{};
  bool patched = false;  // its object is written in this plan
};

Condition verdict_of(bool good, std::string_view reason, std::string message) {
  return {.type = std::string(condition::kKueueSynced),
          .status = good ? "True" : "False",
          .reason = std::string(reason),
          .message = std::move(message)};
}

const Value& synced_condition(const Entry& entry) {
  return find_condition(entry.cluster.object.status()["conditions"], condition::kKueueSynced);
}

std::string gpu_text(const Entry& entry) {
  if (!entry.wish.discovered) {
    return "GPUs are not discovered yet";
  }
  std::string text;
  for (const auto& [resource, count] : entry.wish.gpus) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", resource, count);
  }
  return text.empty() ? "no GPUs" : text;
}

class Queue {
 public:
  Queue(const View& view, const Settings& settings, Instant now)
      : view_(view), settings_(settings), now_(now) {}

  Plan run() {
    read_clusters();
    if (entries_.empty()) {
      return std::move(plan_);
    }
    const auto queue = view_.get(api::kueue::kClusterQueue, {"", settings_.cluster_queue});
    if (!queue || queue->deleting()) {
      without_queue();
    } else {
      with_queue(*queue);
    }
    write_conditions();
    return std::move(plan_);
  }

 private:
  // ---- what the clusters want

  void read_clusters() {
    for (const Object& object : view_.list(api::kFournosCluster, {.ns = settings_.ns})) {
      if (object.deleting() && !object.has_finalizer(name::kFinalizer)) {
        continue;  // manual: what is there stays (10.1)
      }
      Entry entry{.cluster = api::read<api::FournosCluster>(object)};
      if (object.deleting() && deletion_policy(entry.cluster.spec) == DeletionPolicy::Retain) {
        continue;
      }
      wish(entry);
      entries_.push_back(std::move(entry));
    }
    // Earlier clusters have the older right to space in the queue; clusters of one second are
    // ordered by name, as the list is.
    std::ranges::stable_sort(entries_, {}, [](const Entry& entry) {
      return entry.cluster.object.creation_time().value_or(Instant());
    });
    close_doubles();
  }

  // One API server under two names has its GPUs once: the older cluster has them.
  void close_doubles() {
    std::map<std::string, std::string> owners;  // by identity
    for (Entry& entry : entries_) {
      const std::string id(entry.cluster.object.annotation(name::kClusterId));
      if (id.empty() || entry.judged || entry.cluster.object.deleting()) {
        continue;
      }
      const auto [known, is_first] = owners.emplace(id, entry.wish.cluster);
      if (is_first) {
        continue;
      }
      entry.wish.discovered = true;
      entry.wish.gpus.clear();
      close(entry, 0);
      entry.judged = true;
      entry.verdict =
          verdict_of(false, "SameCluster",
                     fmt::format("its API server is that of FournosCluster {}, whose GPUs and "
                                 "slots count once; remove one of the two",
                                 known->second));
    }
  }

  void wish(Entry& entry) {
    const Object& object = entry.cluster.object;
    QuotaWish& wish = entry.wish;
    wish.cluster = object.name();
    if (const auto kept = Quantity::parse(object.annotation(name::kSlotQuota))) {
      entry.kept = kept->value();
    }
    if (object.deleting()) {
      entry.judged = true;
      const bool out = is_leaving(object);
      wish.presence = out ? QuotaWish::Presence::Leave : QuotaWish::Presence::Stay;
      close(entry, 0);
      return;
    }
    if (wish.cluster.size() > kLongestName) {
      wish.presence = QuotaWish::Presence::Stay;
      entry.judged = true;
      entry.verdict = verdict_of(
          false, "Rejected",
          fmt::format("the name is longer than {} bytes, the limit of a node label's value",
                      kLongestName));
      return;
    }
    apply_flavor(entry);
    wish_gpus(entry);
    wish_slots(entry);
    read_repairs(entry);
  }

  static bool is_leaving(const Object& object) {
    const Value& condition = find_condition(object.status()["conditions"], condition::kOffboarding);
    const std::string_view stage = condition["reason"].as_string();
    return !stage.empty() && stage != offboarding::kDraining;
  }

  // A queue that names a missing flavor admits nothing: the flavor comes first.
  void apply_flavor(Entry& entry) {
    const std::string& cluster = entry.wish.cluster;
    const auto flavor = view_.get(api::kueue::kResourceFlavor, {"", cluster});
    const FlavorState state = flavor_state(flavor ? &*flavor : nullptr, cluster);
    if (state == FlavorState::Good) {
      return;
    }
    entry.wish.presence = QuotaWish::Presence::Stay;
    entry.judged = true;
    if (const auto error = flavor_refused(view_, cluster); error && state == FlavorState::Absent) {
      entry.verdict = verdict_of(false, "Rejected",
                                 one_line(fmt::format("cannot create resourceflavors.{}: {}",
                                                      api::kueue::kGroup, error->message)));
    }
    if (state == FlavorState::Conflict) {
      entry.verdict =
          verdict_of(false, "FlavorConflict",
                     fmt::format("ResourceFlavor {} exists and does not select the nodes {}={}",
                                 cluster, name::kClusterNodeLabel, cluster));
    }
  }

  void wish_gpus(Entry& entry) const {
    const auto& hardware = entry.cluster.spec.hardware;
    if (!hardware || (hardware->last_discovery.empty() && hardware->gpus.empty())) {
      return;
    }
    entry.wish.discovered = true;
    for (const Amount& amount : amounts_of(hardware->gpus).list) {
      entry.wish.gpus[settings_.gpu_prefix + amount.short_name] = amount.count;
    }
  }

  static void close(Entry& entry, std::int64_t slots) {
    entry.closed = true;
    entry.wish.slots = slots;
  }

  void wish_slots(Entry& entry) const {
    const api::FournosCluster& cluster = entry.cluster;
    if (api::is_cordoned(cluster)) {
      close(entry, 0);
      return;
    }
    const std::string& lock = cluster.status.lock_state;
    if (!owner_of(cluster.spec).empty() && lock != state::kHeld && lock != state::kFailed) {
      if (const std::int64_t used = used_slots(entry); used > 0) {
        close(entry, used);
      }
    }
    if (!entry.closed && entry.kept) {
      entry.wish.slots = entry.kept;
    }
  }

  // Without the sentinel's.
  [[nodiscard]] std::int64_t used_slots(const Entry& entry) const {
    std::int64_t used = 0;
    for (const Object& workload : workloads_on(view_, entry.wish.cluster)) {
      const std::string_view name = workload.name();
      if (name == entry.cluster.status.lock_job_name ||
          name == settings_.lock_prefix + entry.wish.cluster) {
        continue;
      }
      const Value& admission = workload.status()["admission"];
      for (const Value& pod_set : admission["podSetAssignments"].items()) {
        const auto usage = Quantity::parse(pod_set["resourceUsage"][name::kClusterSlot]);
        used += usage ? usage->value() : 0;
      }
    }
    return used;
  }

  // ---- the queue

  void without_queue() {
    const auto error = unreadable(view_, api::kueue::kClusterQueue);
    for (Entry& entry : entries_) {
      if (entry.judged) {
        continue;
      }
      entry.verdict =
          error
              ? verdict_of(false, "Rejected",
                           one_line(fmt::format("cannot list clusterqueues.{}: {}",
                                                api::kueue::kGroup, error->message)))
              : verdict_of(false, "ClusterQueueNotFound",
                           fmt::format("ClusterQueue {} does not exist", settings_.cluster_queue));
    }
  }

  void with_queue(const Object& queue) {
    const Value groups = queue.spec()["resourceGroups"];
    keep_stored_slots(queue, groups);
    limit_repairs(groups);
    const QuotaEdit edit = edit_quotas(groups, wishes(), settings_.gpu_prefix);
    for (Entry& entry : entries_) {
      judge(entry, edit);
    }
    write(queue, edit);
  }

  [[nodiscard]] std::vector<QuotaWish> wishes() const {
    std::vector<QuotaWish> all;
    all.reserve(entries_.size());
    for (const Entry& entry : entries_) {
      all.push_back(entry.wish);
    }
    return all;
  }

  static const Value* find_flavor(const Value& groups, const std::string& cluster) {
    for (const Value& group : groups.items()) {
      for (const Value& flavor : group["flavors"].items()) {
        if (flavor["name"].as_string() == cluster) {
          return &flavor;
        }
      }
    }
    return nullptr;
  }

  static std::optional<std::int64_t> stored_slots(const Value& groups, const std::string& cluster) {
    const Value* flavor = find_flavor(groups, cluster);
    if (flavor == nullptr) {
      return std::nullopt;
    }
    for (const Value& resource : (*flavor)["resources"].items()) {
      if (resource["name"].as_string() == name::kClusterSlot) {
        const auto quantity = Quantity::parse(resource["nominalQuota"]);
        return quantity ? std::optional(quantity->value()) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  void annotate(Entry& entry, std::string_view key, Value value) {
    Value merge = Value::object();
    merge.set_path({"metadata", "annotations", key}, std::move(value));
    // What an old view of the cluster lacks must not be written over; the second patch of a plan
    // cannot know the first one's version.
    const Object& object = entry.cluster.object;
    Guard guard{.uid = std::string(object.uid())};
    if (!entry.patched) {
      guard.resource_version = object.resource_version();
    }
    plan_.then(Patch{.target = {&api::kFournosCluster, object.key()},
                     .merge = std::move(merge),
                     .guard = std::move(guard)});
    entry.patched = true;
  }

  // Before a door is closed, its stored width goes to the cluster. What the queue shows may be an
  // old, narrow state: the greater of the two is the true one.
  void keep_stored_slots(const Object& queue, const Value& groups) {
    for (Entry& entry : entries_) {
      const auto stored = stored_slots(groups, entry.wish.cluster);
      if (entry.closed && !entry.cluster.object.deleting()) {
        keep_width(entry, queue, stored);
      } else if (!entry.closed && entry.kept) {
        entry.wish.slots = std::max(*entry.kept, stored.value_or(0));
      }
    }
  }

  void keep_width(Entry& entry, const Object& queue, std::optional<std::int64_t> stored) {
    const bool shut = stored == std::optional<std::int64_t>(0);
    if (shut && !entry.kept && !is_newest(api::kueue::kClusterQueue, queue)) {
      return;  // perhaps as an earlier lock left it: not a width to keep
    }
    const std::int64_t width = std::max(
        stored.value_or(0), entry.kept.value_or(stored ? 0 : std::int64_t{kSlotsPerCluster}));
    entry.wish.slots = std::min(*entry.wish.slots, width);
    if (entry.kept != std::optional(width)) {
      annotate(entry, name::kSlotQuota, std::to_string(width));  // fails if the view is old
    } else if (stored > entry.wish.slots &&
               !is_newest(api::kFournosCluster, entry.cluster.object)) {
      entry.wish.slots = stored;  // perhaps opened meanwhile, and nothing would open it again
    }
  }

  // ---- repairs

  void read_repairs(Entry& entry) const {
    std::string_view text = entry.cluster.object.annotation(api::kQuotaRepairs);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (const auto at = read_time(text.substr(0, end)); at && now_ - *at < kRepairMemory) {
        entry.repairs.push_back(*at);
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  // The entry was in the queue, and another writer removed or changed it.
  [[nodiscard]] static bool was_undone(const Entry& entry, bool missing, bool gpus_differ) {
    const Value& synced = synced_condition(entry);
    const bool good = synced["status"].as_string() == "True";
    return (missing && (good || synced["reason"].as_string() == "Conflict")) ||
           (gpus_differ && good && synced["message"].as_string() == gpu_text(entry));
  }

  void limit_repairs(const Value& groups) {
    for (Entry& entry : entries_) {
      if (entry.judged || entry.repairs.size() <= api::kMostQuotaRepairs ||
          find_flavor(groups, entry.wish.cluster) != nullptr) {
        continue;
      }
      const Instant next = entry.repairs.back() + kFightPause;
      if (next > now_) {
        plan_.wake_at(next);
        entry.wish.presence = QuotaWish::Presence::Stay;
        entry.judged = true;
        entry.verdict = verdict_of(
            false, "Conflict",
            fmt::format("something else keeps changing ClusterQueue {}: its next repair is at {}",
                        settings_.cluster_queue, format_time(next)));
      }
    }
  }

  void note_repair(Entry& entry) {
    const bool fight = entry.repairs.size() >= api::kMostQuotaRepairs;
    entry.repairs.push_back(now_);
    std::string text;
    for (const Instant at : entry.repairs) {
      text += (text.empty() ? "" : " ") + format_time(at);
    }
    annotate(entry, api::kQuotaRepairs, text);
    emit(entry, "Normal", "QuotaRepaired",
         fmt::format("put the cluster's quota back into ClusterQueue {}", settings_.cluster_queue));
    if (fight) {
      emit(entry, "Warning", "QuotaFightDetected",
           fmt::format("ClusterQueue {} is changed back again and again, perhaps by GitOps; "
                       "repairing every 5 minutes from now on",
                       settings_.cluster_queue));
    }
  }

  // ---- what is written

  void emit(const Entry& entry, std::string_view type, std::string_view reason, std::string note) {
    plan_.then(Emit{.about = {&api::kFournosCluster, entry.cluster.object.key()},
                    .about_uid = std::string(entry.cluster.object.uid()),
                    .type = std::string(type),
                    .reason = std::string(reason),
                    .note = std::move(note)});
  }

  void judge(Entry& entry, const QuotaEdit& edit) const {
    const auto outcome = edit.outcomes.find(entry.wish.cluster);
    if (entry.judged || outcome == edit.outcomes.end()) {
      return;
    }
    switch (outcome->second.kind) {
      case QuotaOutcome::Kind::Synced:
        entry.verdict = verdict_of(true, "Synced", gpu_text(entry));
        break;
      case QuotaOutcome::Kind::QuotaLimit:
        entry.verdict = verdict_of(false, "QuotaLimit", outcome->second.message);
        break;
      case QuotaOutcome::Kind::Rejected:
        entry.verdict = verdict_of(false, "Rejected", outcome->second.message);
        break;
    }
  }

  void write(const Object& queue, const QuotaEdit& edit) {
    if (edit.changed) {
      Value merge = Value::object();
      merge.set_path({"spec", "resourceGroups"}, edit.groups);
      Patch patch{.target = {&api::kueue::kClusterQueue, queue.key()},
                  .merge = std::move(merge),
                  .guard = {.uid = std::string(queue.uid()),
                            .resource_version = std::string(queue.resource_version())}};
      const auto error = refused(view_, patch);
      if (error || contested(view_, patch.target)) {
        if (error) {
          reject(edit, *error);
        } else {
          contest(edit);
        }
        write_conditions();
        conditions_written_ = true;
        plan_.then(std::move(patch));  // again, ever more slowly
        return;
      }
      plan_.then(std::move(patch));
      for (Entry& entry : entries_) {
        follow(entry, edit);
      }
    }
    for (Entry& entry : entries_) {
      if (!entry.closed && entry.kept &&
          (edit.changed || is_newest(api::kueue::kClusterQueue, queue))) {
        annotate(entry, name::kSlotQuota, nullptr);
      }
    }
  }

  // Others kept writing it at the same time (X2).
  void contest(const QuotaEdit& edit) {
    for (Entry& entry : entries_) {
      const auto outcome = edit.outcomes.find(entry.wish.cluster);
      if (!entry.judged && outcome != edit.outcomes.end() && outcome->second.differs) {
        entry.verdict = verdict_of(
            false, "Conflict",
            fmt::format("ClusterQueue {} changes faster than it can be written; trying again",
                        settings_.cluster_queue));
      }
    }
  }

  // The view shows the object as the API server has it; false: not, or not known yet.
  bool is_newest(const Kind& kind, const Object& object) {
    const Live live = read_live(view_, kind, object.key(), now_, object.resource_version());
    const bool same = !live.objects.empty() &&
                      live.objects.front().resource_version() == object.resource_version();
    if (!same) {
      plan_.wake_at(now_ + kLiveAge);  // the answer may be an error, and then nothing else wakes
    }
    return same;
  }

  void reject(const QuotaEdit& edit, const Error& error) {
    for (Entry& entry : entries_) {
      const auto outcome = edit.outcomes.find(entry.wish.cluster);
      if (!entry.judged && outcome != edit.outcomes.end() && outcome->second.differs) {
        entry.verdict = verdict_of(
            false, "Rejected",
            one_line(error.code == 403 && error.message.find("webhook") == std::string::npos
                         ? fmt::format("cannot patch clusterqueues.{}: {}", api::kueue::kGroup,
                                       error.message)
                         : error.message));
      }
    }
  }

  // Events and memory behind a write.
  void follow(Entry& entry, const QuotaEdit& edit) {
    const auto found = edit.outcomes.find(entry.wish.cluster);
    if (entry.judged || found == edit.outcomes.end()) {
      return;
    }
    const QuotaOutcome& outcome = found->second;
    if (outcome.kind != QuotaOutcome::Kind::Synced) {
      return;
    }
    if (was_undone(entry, !outcome.was_there, outcome.was_there && outcome.gpus_differ)) {
      note_repair(entry);
    } else if (outcome.gpus_differ) {
      emit(entry, "Normal", "QuotaUpdated", gpu_text(entry));
    }
  }

  void write_conditions() {
    if (conditions_written_) {
      return;
    }
    for (const Entry& entry : entries_) {
      if (!entry.verdict || entry.patched) {
        continue;  // a patched one is looked at again once its new version is here
      }
      const Context context{
          .view = view_, .settings = settings_, .cluster = entry.cluster, .now = now_};
      Value conditions = entry.cluster.object.status()["conditions"];
      const Value before = conditions;
      set_condition(conditions, *entry.verdict, now_);
      if (conditions != before) {
        StatusWrite status(context);
        status.condition(entry.verdict->type, entry.verdict->status == "True",
                         entry.verdict->reason, entry.verdict->message);
        status.into(plan_);
      }
    }
  }

  const View& view_;
  const Settings& settings_;
  Instant now_;
  std::vector<Entry> entries_{};
  bool conditions_written_ = false;
  Plan plan_{};
};

Plan reconcile_queue(const View& view, const Key& /*key*/, Instant now) {
  const auto settings = api::decode<Settings>(view.config("hearth"));
  return Queue(view, settings, now).run();
}

// What of a cluster is looked at above. Each probe writes times and counts beside it, and a
// thousand clusters are many to look through for nothing.
Value essence_of(const Object& cluster) {
  Value annotations = Value::object();
  for (const Member& annotation : cluster.metadata()["annotations"].members()) {
    if (annotation.key() != name::kLastProbe) {
      annotations.set(annotation.key(), annotation.value);
    }
  }
  Value conditions = Value::list();
  for (const Value& one : cluster.status()["conditions"].items()) {
    if (one["type"].as_string() != condition::kGpuDiscovered) {
      conditions.push_back(one);
    }
  }
  const Value& metadata = cluster.metadata();
  const Value& spec = cluster.spec();
  const Value& status = cluster.status();
  return Value::object({{"uid", metadata["uid"]},
                        {"deleted", metadata["deletionTimestamp"]},
                        {"finalizers", metadata["finalizers"]},
                        {"annotations", std::move(annotations)},
                        {"gpus", spec["hardware"]["gpus"]},
                        {"discovered", !spec["hardware"]["lastDiscovery"].as_string().empty()},
                        {"owner", spec["owner"]},
                        {"cordoned", spec["cordoned"]},
                        {"policy", spec["deletionPolicy"]},
                        {"state", status["kubeconfigStatus"]},
                        {"lock", status["lockState"]},
                        {"lockJob", status["lockJobName"]},
                        {"conditions", std::move(conditions)}});
}

bool makes_no_difference(const Kind& kind, const Object& before, const Object& after) {
  return &kind == &api::kFournosCluster && essence_of(before) == essence_of(after);
}

constexpr const Kind* kQueueReads[] = {&api::kFournosCluster, &api::kueue::kResourceFlavor,
                                       &api::kueue::kClusterQueue, &api::kueue::kWorkload};
constexpr const Kind* kQueueWrittenKinds[] = {&api::kFournosCluster, &api::kueue::kClusterQueue};
constexpr Access kQueueAccess[] = {{&api::kFournosCluster, "get patch"},
                                   {&api::kFournosCluster, "patch", "status"},
                                   {&api::kueue::kClusterQueue, "get patch"},
                                   {&api::kEvent, "create patch"}};

}  // namespace

const Operator& queue_operator() {
  static const Index kIndexes[] = {flavor_index()};
  static const Operator kOperator{
      .name = "hearth-queue",
      .primary = &api::kueue::kClusterQueue,
      .reads = kQueueReads,
      .writes = kQueueWrittenKinds,
      .indexes = kIndexes,
      .reconcile = reconcile_queue,
      .singleton = true,
      // From a tenth of a second, as others may just have written it, too.
      .backoff = {.first = std::chrono::milliseconds(100), .most = std::chrono::seconds(60)},
      .pause = kWindow,
      .overlooks = makes_no_difference,
      .access = kQueueAccess,
  };
  return kOperator;
}

}  // namespace athanor::hearth
