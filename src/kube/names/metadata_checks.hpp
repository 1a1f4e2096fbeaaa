// SPDX-License-Identifier: Apache-2.0
// Rules of metadata that hold for every object, and for objects within objects
// (docs/spec/apiserver.md 7). Each adds what is wrong to `errors`; `metadata` is where the metadata
// is: "metadata", "spec.template.metadata".
#pragma once

#include <string_view>
#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/value/value.hpp"

namespace athanor {

void check_labels(std::string_view metadata, const Value& labels, std::vector<FieldError>& errors);
void check_annotations(std::string_view metadata, const Value& annotations,
                       std::vector<FieldError>& errors);
void check_owners(std::string_view metadata, const Value& owners, std::vector<FieldError>& errors);
// Checks that no two finalizers are set that exclude each other.
void check_deletion_finalizers(std::string_view metadata, const Value& finalizers,
                               std::vector<FieldError>& errors);

}  // namespace athanor
