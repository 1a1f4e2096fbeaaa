// SPDX-License-Identifier: Apache-2.0
// Which objects a list, watch or deletecollection is about: namespace, labels, fields
// (docs/spec/apiserver.md 8.4, 8.5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/http.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/store/store.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Immutable after read().
class Selection {
 public:
  Selection() = default;
  // Reads the request's labelSelector and fieldSelector. Error BadRequest: texts of 8.4 and 8.5.
  static StatusResult<Selection> read(const Request& request, const ResourceInfo& resource);
  // Checks that both selectors parse, whether or not the resource knows the fields.
  static StatusResult<void> check_syntax(const Request& request);

  // Matches `object`, which is in the version of the resource that read() saw.
  [[nodiscard]] bool matches(const Value& object) const;
  // Selects among kBlock objects at most: one bit each, the first is the lowest. Takes much less
  // time than one after the other where they are far apart in memory: it waits for all of them at
  // once.
  static constexpr std::size_t kBlock = 32;
  [[nodiscard]] std::uint32_t matches(std::span<const store::StoredPtr> objects) const;
  // Returns true when there is no selector at all.
  [[nodiscard]] bool everything() const { return labels_.empty() && fields_.empty(); }
  // Returns the one name, or the one namespace, that they ask for; nullptr when there may be
  // several, or when what they ask for can be no such name.
  [[nodiscard]] const std::string* only_name() const;
  [[nodiscard]] const std::string* only_namespace() const;
  // Returns false when metadata.name or metadata.namespace must differ: cheap, before matches().
  [[nodiscard]] bool may_match(const Key& key) const;

 private:
  struct FieldTest {
    std::string label{};
    std::vector<std::string> path{};
    bool equal = true;
    std::string value{};
    bool built_in = false;
  };

  [[nodiscard]] bool fields_match(const Value& object) const;
  [[nodiscard]] const std::string* required(std::string_view label) const;

  LabelSelector labels_{};
  std::vector<FieldTest> fields_{};
};

}  // namespace athanor::apiserver
