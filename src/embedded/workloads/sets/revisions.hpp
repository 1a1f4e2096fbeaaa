// SPDX-License-Identifier: Apache-2.0
// ControllerRevisions: the templates a StatefulSet or DaemonSet had, numbered.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::workloads {

inline constexpr const char* kRevisionHashLabel = "controller-revision-hash";  // of pods
// Default of spec.revisionHistoryLimit.
inline constexpr std::int64_t kRevisionHistory = 10;

// Returns the revisions of `owner`, oldest first.
std::vector<Object> revisions_of(const View& view, const Object& owner, const Kind& owner_kind,
                                 Plan& plan);
// Returns its `revision`; 0 when absent.
std::int64_t number_of_revision(const Object& revision);
// Returns a revision's form of a template: a patch that restores it.
Value revision_data(const Value& pod_template);
// Returns the template that a revision stores.
Value template_of(const Object& revision);
// Returns the hash in a revision's name: FNV-1 of its data as Go prints it and the collision count.
std::string revision_hash(const Value& data, std::int64_t collisions);
// Makes "<owner>-<hash>", labelled with the template's labels and `hash` under `hash_label`.
Value make_revision(const Object& owner, const Kind& owner_kind, const std::string& hash,
                    const char* hash_label, std::int64_t number);
// Deletes the oldest revisions beyond spec.revisionHistoryLimit, those in `live` excepted.
void truncate_history(const Object& owner, const std::vector<Object>& revisions,
                      const std::set<std::string>& live, Plan& plan);
// A revision by the name of its object.
struct RevisionName {
  std::string name{};
  std::string hash{};  // the value of `hash_label`
};
// Returns the revision of the owner's present template, which `plan` makes, or renumbers to be the
// latest, when that is needed and the owner is not going away.
RevisionName latest_revision(const Object& owner, const Kind& owner_kind,
                             const std::vector<Object>& revisions, const char* hash_label,
                             Plan& plan);
// Gives a revision that became the latest again the next number.
Step renumber(const Object& revision, std::int64_t number);

}  // namespace athanor::workloads
