// SPDX-License-Identifier: Apache-2.0
// Subjects of describe and wait, from their words or by labels.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/value/kind.hpp"
#include "views/subjects.hpp"

namespace athanor::cli {

class Session;

// Returns the kind of the API in which a subject's objects are; nullptr for slices and zones,
// which are parts of nodes.
const Kind* kind_of_subject(views::Subject subject);

// Returns what the words name, or with labels all objects of the kinds that the words name
// (none: jobs). Errors: see views::parse_subjects(); a kind without labels, a wrong selector (wrong
// usage); no object has the labels.
Result<std::vector<views::SubjectName>> chosen_subjects(Session& session,
                                                        const std::vector<std::string>& words,
                                                        const std::string& labels,
                                                        const std::string& clusters_ns);

}  // namespace athanor::cli
