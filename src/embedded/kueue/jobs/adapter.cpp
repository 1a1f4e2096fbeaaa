// SPDX-License-Identifier: Apache-2.0
// Ways into objects.
#include "embedded/kueue/jobs/adapter.hpp"

#include <charconv>

namespace athanor::kueue::jobs {
namespace {

std::optional<std::size_t> index_of(const std::string& step) {
  std::size_t index = 0;
  const char* end = step.data() + step.size();
  const auto [at, error] = std::from_chars(step.data(), end, index);
  return error == std::errc() && at == end ? std::optional(index) : std::nullopt;
}

}  // namespace

const Value& look_up(const Value& root, const Place& place) {
  const Value* at = &root;
  for (const std::string& step : place) {
    if (at->is_list()) {
      const auto index = index_of(step);
      at = &(*at)[index.value_or(at->size())];
    } else {
      at = &(*at)[std::string_view(step)];
    }
  }
  return *at;
}

Value* reach(Value& root, const Place& place) {
  if (look_up(root, place).is_null()) {
    return nullptr;
  }
  Value* at = &root;
  for (const std::string& step : place) {
    at = at->is_list() ? &at->item(index_of(step).value_or(0)) : &at->member(step);
  }
  return at;
}

bool is_suspended(const Adapter& adapter, const Value& job) {
  const Value* at = &job;
  for (const std::string_view step : adapter.suspend) {
    at = &(*at)[step];
  }
  return at->as_bool();
}

void set_suspended(const Adapter& adapter, Value& job, bool suspended) {
  Value* at = &job;
  for (const std::string_view step : adapter.suspend) {
    if (!at->is_object() && !at->is_null()) {
      return;  // of another type: refused by its schema
    }
    at = &at->member(step);
  }
  *at = suspended;
}

}  // namespace athanor::kueue::jobs
