// SPDX-License-Identifier: Apache-2.0
// Reading a page of a list from the store (docs/spec/apiserver.md 8.2, 8.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "embedded/apiserver/read/list_options.hpp"
#include "embedded/apiserver/read/selection.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// One page of a list, as of `revision`.
struct ListPage {
  std::vector<Value> objects{};            // in the call's version
  std::vector<store::StoredPtr> stored{};  // what the objects were made of
  std::uint64_t revision = 0;
  std::string continue_token{};  // empty: the last page
  std::optional<std::uint64_t> remaining{};
};

// Reads the page that the options ask for. Gone (410) when its revision is no longer kept.
StatusResult<ListPage> read_list(Call& call, const ListOptions& options,
                                 const Selection& selection);

}  // namespace athanor::apiserver
