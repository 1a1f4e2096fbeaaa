// SPDX-License-Identifier: Apache-2.0
// Steps that several operators write: an object that belongs to another one.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::numa {

// The operators that apply objects, which are also the field managers.
inline constexpr std::string_view kExporterApplier = "numaresources";
inline constexpr std::string_view kSchedulerApplier = "numaresourcesscheduler";
inline constexpr std::string_view kKubeletConfigApplier = "numaresources-kubeletconfig";
inline constexpr std::string_view kHostedConfigApplier = "numaresources-hosted-kubeletconfig";

// Applies `object`, of `kind`, with `owner` as its controller, for the operator `applier`. What
// others added to it is taken out (kube/apply/additions.hpp).
void apply_owned(const View& view, std::string_view applier, const Kind& kind, Value object,
                 const Object& owner, Plan& plan);
// Does the same for an object without an owner.
void apply_whole(const View& view, std::string_view applier, const Kind& kind, Value object,
                 Plan& plan);
// Takes steps that the API server refused out of the plan and returns the first refusal; policies
// of writes that an old server lacks are none.
std::optional<Error> drop_refused(const View& view, Instant now, Plan& plan);
// Returns the kind of an object that the operators deploy, by its "kind".
const Kind& kind_of(const Value& object);

}  // namespace athanor::numa
