// SPDX-License-Identifier: Apache-2.0
// Each component: condition Unknown, create, condition True. All that one pass creates share the
// write before and the write after, so that the number of components costs no status writes.
#include "systems/appwrapper/lifecycle/creation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "systems/appwrapper/lifecycle/components.hpp"
#include "systems/appwrapper/lifecycle/desired.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kInitiated = "ComponentCreationInitiated";
constexpr std::string_view kCreated = "ComponentCreatedSuccessfully";
constexpr std::string_view kErrored = "ComponentCreationErrored";
// Answers that another attempt would not change: invalid, and no such resource.
constexpr int kInvalid = 422;
constexpr int kNoSuchResource = 404;

class Creator {
 public:
  Creator(const Context& context, StatusEdit& edit) : context_(context), edit_(edit) {}

  Creation run() {
    const bool whole = walk();
    create_announced();
    const bool last = whole && result_.state == Creation::State::Working;
    if (last) {
      edit_.enter(phase::kRunning);
    }
    if (last || unwritten_) {
      result_.plan.then(edit_.step());
    }
    return std::move(result_);
  }

 private:
  // Returns true if all components are created, in this pass or before.
  bool walk() {
    if (is_gang(context_.app) && !make_pod_group()) {
      return false;
    }
    for (std::size_t i = 0; i < context_.app.spec.components.size(); ++i) {
      if (edit_.component_condition(i)["status"].as_string() != "True" && !one(i)) {
        return false;
      }
    }
    return true;
  }

  // A crash between the writes leaves Unknown components with their names: the next run adopts
  // those that exist, and a removal deletes them.
  void create_announced() {
    if (creates_.empty()) {
      return;
    }
    result_.plan.then(edit_.step());
    for (Create& create : std::exchange(creates_, {})) {
      result_.plan.then(std::move(create));
    }
    unwritten_ = !named_.empty();
    for (const std::size_t index : std::exchange(named_, {})) {
      edit_.component(index, "True", kCreated);
    }
  }

  // The PodGroup is there before any pod asks for it. False: the walk ends here.
  bool make_pod_group() {
    const Kind& wanted = pod_group_kind();
    const auto kind = find_component_kind(context_.view, wanted.api_version(), wanted.name);
    if (!kind) {
      return fail(fmt::format("no matches for kind \"{}\" in version \"{}\"", wanted.name,
                              wanted.api_version()));
    }
    const std::string name(context_.name());
    const std::optional<bool> there = find_ours(*kind, name);
    if (!there || *there) {
      return there.has_value();
    }
    Create create{.target = {kind->kind, {std::string(context_.ns()), name}},
                  .object = pod_group_object(context_.app, expected_pods(context_.pod_sets))};
    // The refusal may be one of an earlier life: it is tried again in any case.
    const auto refusal = refused(context_.view, create);
    result_.plan.then(std::move(create));
    return !refusal || wait(refusal->message);
  }

  // False: the walk ends here.
  bool one(std::size_t index) {
    const Value& wanted = context_.app.spec.components[index].template_value;
    const std::string_view api_version = wanted["apiVersion"].as_string();
    const std::string_view kind_name = wanted["kind"].as_string();
    auto object = desired_object(context_.app, index, context_.pod_sets[index], context_.settings);
    if (!object.ok()) {
      return fail(object.error().message);
    }
    const auto kind = find_component_kind(context_.view, api_version, kind_name);
    if (!kind) {
      return fail(
          fmt::format("no matches for kind \"{}\" in version \"{}\"", kind_name, api_version));
    }
    const std::string name = (*object)["metadata"]["name"].str();
    const std::optional<bool> there =
        name.empty() ? find_generated(index, *kind, *object) : find_named(index, *kind, name);
    if (!there) {
      return false;
    }
    if (*there) {
      return true;
    }
    Create create{.target = {kind->kind, {std::string(context_.ns()), name}},
                  .object = *std::move(object)};
    // A refusal from before the first attempt is one of an earlier life.
    const bool tried = !edit_.component_condition(index).is_null();
    if (const auto refusal = refused(context_.view, create); refusal && tried) {
      if (!note_refusal(index, *refusal)) {
        return false;
      }
    }
    if (edit_.component_condition(index).is_null()) {
      edit_.identify(index, name, kind_name, api_version);
      edit_.component(index, "Unknown", kInitiated);
    }
    creates_.push_back(std::move(create));
    if (result_.state == Creation::State::Waiting) {
      return false;  // the next run checks whether it was created
    }
    result_.state = Creation::State::Working;
    if (name.empty()) {
      return false;  // the next run finds the name
    }
    named_.push_back(index);
    return true;
  }

  bool fail(std::string error) {
    if (!result_.plan.steps().empty() || !creates_.empty()) {
      // First what comes before it is created; the next run fails.
      unwritten_ = true;
      result_.state = Creation::State::Working;
      return false;
    }
    result_.state = Creation::State::Fatal;
    result_.error = std::move(error);
    return false;
  }
  bool wait(std::string error = {}) {
    result_.state = Creation::State::Waiting;
    result_.error = std::move(error);
    return false;
  }

  // False: fatal. A retryable one is tried again by this plan.
  bool note_refusal(std::size_t index, const Error& refusal) {
    edit_.component(index, "False", kErrored, refusal.message);
    if (refusal.code == kInvalid || refusal.code == kNoSuchResource) {
      return fail(refusal.message);
    }
    wait(refusal.message);
    return true;
  }

  // The operator may not read the kind, so that it could not follow what it creates. A component
  // that may exist keeps its condition.
  void note_denial(std::size_t index, const Kind& kind, const std::string& name,
                   const std::string& error) {
    const std::string status = edit_.component_condition(index)["status"].str();
    if (!status.empty() && status != "False") {
      return;
    }
    create_announced();
    if (status.empty()) {
      edit_.identify(index, name, kind.name, kind.api_version());
    }
    edit_.component(index, "False", kErrored, error);
    unwritten_ = true;
  }

  // True: the object exists and is ours; nullopt: the walk ends here.
  std::optional<bool> find_named(std::size_t index, const ComponentKind& kind,
                                 const std::string& name) {
    const std::optional<bool> there = find_ours(kind, name, index);
    if (there && *there) {
      adopt(index, *kind.kind, name);
    }
    return there;
  }

  // `index`: of the component, where it is one.
  std::optional<bool> find_ours(const ComponentKind& kind, const std::string& name,
                                std::optional<std::size_t> index = std::nullopt) {
    const Lookup found = look_up(context_, kind, name, Absence::AsCached);
    if (found.state == Lookup::State::Absent) {
      return false;
    }
    if (found.state == Lookup::State::Asked) {
      if (found.denied && index) {
        note_denial(*index, *kind.kind, name, found.error);
      }
      wait(found.error);
      return std::nullopt;
    }
    if (!is_controlled(context_, *found.object)) {
      fail(fmt::format("resource {} exists, but is not controlled by appwrapper", name));
      return std::nullopt;
    }
    if (found.state == Lookup::State::Deleting) {
      wait(fmt::format("{} \"{}\" is being deleted", kind.kind->name, name));
      return std::nullopt;
    }
    return true;
  }

  // An object with this generateName that is ours and no other component's.
  std::optional<bool> find_generated(std::size_t index, const ComponentKind& kind,
                                     const Value& object) {
    const std::string_view prefix = object["metadata"]["generateName"].as_string();
    const bool tried = !edit_.component_condition(index).is_null();
    if (!tried && kind.watched) {
      return false;
    }
    const auto is_it = [&](const Object& candidate) {
      return candidate.metadata()["generateName"].as_string() == prefix &&
             is_controlled(context_, candidate) && !candidate.deleting() &&
             !is_taken(candidate.name());
    };
    if (kind.watched) {
      for (const Object& candidate : context_.view.list(
               *kind.kind,
               {.index = "owner", .index_value = std::string(context_.object().uid())})) {
        if (is_it(candidate)) {
          adopt(index, *kind.kind, candidate.name());
          return true;
        }
      }
    }
    const Live live = read_live(context_.view, *kind.kind, {std::string(context_.ns()), ""},
                                context_.now, context_.object().resource_version());
    if (!live.known) {
      if (is_denied(live)) {
        note_denial(index, *kind.kind, {}, live.error->message);
      }
      wait(live.error ? live.error->message : std::string());
      return std::nullopt;
    }
    if (!tried) {
      return false;
    }
    const auto at = std::ranges::find_if(live.objects, is_it);
    if (at == live.objects.end()) {
      return false;
    }
    adopt(index, *kind.kind, at->name());
    return true;
  }

  [[nodiscard]] bool is_taken(std::string_view name) const {
    for (std::size_t i = 0; i < context_.app.spec.components.size(); ++i) {
      if (edit_.component_name(i) == name) {
        return true;
      }
    }
    return false;
  }

  void adopt(std::size_t index, const Kind& kind, std::string_view name) {
    edit_.identify(index, name, kind.name, kind.api_version());
    edit_.component(index, "True", kCreated);
    result_.state = Creation::State::Working;
  }

  const Context& context_;
  StatusEdit& edit_;
  Creation result_{};
  std::vector<Create> creates_{};     // announced in `edit_`, not in the plan yet
  std::vector<std::size_t> named_{};  // components of `creates_` with a name of their own
  bool unwritten_ = false;            // `edit_` has more than the plan's last status write
};

}  // namespace

Creation create_components(const Context& context, StatusEdit& edit) {
  return Creator(context, edit).run();
}

}  // namespace athanor::appwrapper
