// SPDX-License-Identifier: Apache-2.0
// Lists: sum, min, max, isSorted, indexOf, lastIndexOf; slices and orders; and sets of list items.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "cel/functions/functions.hpp"
#include "cel/values/ast.hpp"

namespace athanor::cel {
namespace {

template <bool kMost>
Val extreme(Arguments a, Runtime&) {
  const ListNode& list = *a[0].as_list();
  if (list.size() == 0) {
    return Val::error(kMost ? "max called on empty list" : "min called on empty list");
  }
  Val best = list.at(0);
  for (std::size_t i = 1; i < list.size(); ++i) {
    Val item = list.at(i);
    const std::optional<int> order = compare(item, best);
    if (!order) {
      return no_such_overload();
    }
    if (kMost ? *order > 0 : *order < 0) {
      best = std::move(item);
    }
  }
  return best;
}

Val is_sorted(Arguments a, Runtime&) {
  const ListNode& list = *a[0].as_list();
  for (std::size_t i = 1; i < list.size(); ++i) {
    const std::optional<int> order = compare(list.at(i - 1), list.at(i));
    if (!order) {
      return no_such_overload();
    }
    if (*order > 0) {
      return Val::boolean(false);
    }
  }
  return Val::boolean(true);
}

Val added(const Val& a, const Val& b) {
  std::int64_t whole = 0;
  std::uint64_t natural = 0;
  if (a.is(Val::Kind::Double)) {
    return Val::real(a.as_double() + b.as_double());
  }
  if (a.is(Val::Kind::Uint)) {
    return __builtin_add_overflow(a.as_uint(), b.as_uint(), &natural)
               ? Val::error("unsigned integer overflow")
               : Val::unsigned_integer(natural);
  }
  if (__builtin_add_overflow(a.as_int(), b.as_int(), &whole)) {
    return Val::error(a.is(Val::Kind::Duration) ? "duration overflow" : "integer overflow");
  }
  return a.is(Val::Kind::Duration) ? Val::duration(whole) : Val::integer(whole);
}

template <Val::Kind kKind>
Val sum(Arguments a, Runtime&) {
  const ListNode& list = *a[0].as_list();
  Val total = kKind == Val::Kind::Double     ? Val::real(0)
              : kKind == Val::Kind::Uint     ? Val::unsigned_integer(0)
              : kKind == Val::Kind::Duration ? Val::duration(0)
                                             : Val::integer(0);
  for (std::size_t i = 0; i < list.size() && !total.is_error(); ++i) {
    const Val item = list.at(i);
    total = item.is(kKind) ? added(total, item) : no_such_overload();
  }
  return total;
}

template <bool kLast>
Val index_in_list(Arguments a, Runtime& runtime) {
  const ListNode& list = *a[0].as_list();
  std::int64_t found = -1;
  for (std::size_t i = 0; i < list.size() && (kLast || found < 0) && !runtime.meter().over(); ++i) {
    if (equal(list.at(i), a[1], runtime.meter())) {
      found = static_cast<std::int64_t>(i);
    }
  }
  return Val::integer(found);
}

bool has_item(const ListNode& list, const Val& item, Meter& meter) {
  for (std::size_t i = 0; i < list.size() && !meter.over(); ++i) {
    if (equal(list.at(i), item, meter)) {
      return true;
    }
  }
  return false;
}

bool has_all(const Val& list, const Val& items, Meter& meter) {
  const ListNode& all = *items.as_list();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_item(*list.as_list(), all.at(i), meter)) {
      return false;
    }
  }
  return true;
}

Val sets_contains(Arguments a, Runtime& runtime) {
  return Val::boolean(has_all(a[0], a[1], runtime.meter()));
}

Val sets_equivalent(Arguments a, Runtime& runtime) {
  return Val::boolean(has_all(a[0], a[1], runtime.meter()) && has_all(a[1], a[0], runtime.meter()));
}

Val sets_intersects(Arguments a, Runtime& runtime) {
  const ListNode& items = *a[1].as_list();
  for (std::size_t i = 0; i < items.size() && !runtime.meter().over(); ++i) {
    if (has_item(*a[0].as_list(), items.at(i), runtime.meter())) {
      return Val::boolean(true);
    }
  }
  return Val::boolean(false);
}

// An empty list when there is no room for so many items.
Val made_list(std::size_t count, Runtime& runtime, const auto& item) {
  std::vector<Val> items;
  if (runtime.meter().room(count * sizeof(Val))) {
    items.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back(item(i));
    }
  }
  return Val::list(std::move(items));
}

Val slice(Arguments a, Runtime& runtime) {
  const ListNode& list = *a[0].as_list();
  const std::int64_t start = a[1].as_int();
  const std::int64_t end = a[2].as_int();
  if (start < 0 || end < 0) {
    return Val::error(
        fmt::format("cannot slice({}, {}), negative indexes not supported", start, end));
  }
  if (start > end) {
    return Val::error(fmt::format(
        "cannot slice({}, {}), start index must be less than or equal to end index", start, end));
  }
  if (static_cast<std::uint64_t>(end) > list.size()) {
    return Val::error(
        fmt::format("cannot slice({}, {}), list is length {}", start, end, list.size()));
  }
  const auto first = static_cast<std::size_t>(start);
  return made_list(static_cast<std::size_t>(end) - first, runtime,
                   [&](std::size_t i) { return list.at(first + i); });
}

Val reversed(Arguments a, Runtime& runtime) {
  const ListNode& list = *a[0].as_list();
  return made_list(list.size(), runtime,
                   [&](std::size_t i) { return list.at(list.size() - 1 - i); });
}

Val range(Arguments a, Runtime& runtime) {
  const std::int64_t count = std::max<std::int64_t>(a[0].as_int(), 0);
  constexpr std::int64_t kMost = std::int64_t{1} << 32;  // no room for that many
  return made_list(static_cast<std::size_t>(std::min(count, kMost)), runtime,
                   [](std::size_t i) { return Val::integer(static_cast<std::int64_t>(i)); });
}

void flatten_into(const ListNode& list, std::int64_t depth, Meter& meter, std::vector<Val>& items) {
  for (std::size_t i = 0; i < list.size() && meter.tick(Meter::kItem); ++i) {
    Val item = list.at(i);
    if (const ListNode* inner = item.as_list(); inner != nullptr && depth > 0) {
      flatten_into(*inner, depth - 1, meter, items);
    } else if (meter.room((items.size() + 1) * sizeof(Val))) {
      items.push_back(std::move(item));
    }
  }
}

Val flatten(Arguments a, Runtime& runtime) {
  const std::int64_t depth = a.size() == 2 ? a[1].as_int() : 1;
  if (depth < 0) {
    return Val::error("level must be non-negative");
  }
  std::vector<Val> items;
  flatten_into(*a[0].as_list(), depth, runtime.meter(), items);
  return Val::list(std::move(items));
}

// The items of a list in the order of the keys, which has one for each.
Val sorted_by(const Val& list, const Val& keys, Meter& meter) {
  const ListNode& by = *keys.as_list();
  const std::size_t count = by.size();
  if (list.as_list()->size() != count) {
    return Val::error(
        fmt::format("@sortByAssociatedKeys() expected a list of the same size as the associated "
                    "keys list, but got {} and {} elements respectively",
                    list.as_list()->size(), count));
  }
  if (count == 0 || !meter.room(3 * count * sizeof(Val))) {
    return list;
  }
  std::vector<std::pair<Val, std::size_t>> order;
  order.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    order.emplace_back(by.at(i), i);
    if (order.back().first.kind() != order.front().first.kind()) {
      return Val::error("list elements must have the same type");
    }
  }
  std::ranges::stable_sort(order, [&](const auto& one, const auto& other) {
    meter.tick(Meter::kItem + std::min(one.first.text().size(), other.first.text().size()));
    return !meter.over() && compare(one.first, other.first).value_or(0) < 0;
  });
  std::vector<Val> items;
  items.reserve(count);
  for (const auto& [key, index] : order) {
    items.push_back(list.as_list()->at(index));
  }
  return Val::list(std::move(items));
}

Val sort(Arguments a, Runtime& runtime) {
  return sorted_by(a[0], a[0], runtime.meter());
}

Val sort_by(Arguments a, Runtime& runtime) {
  return sorted_by(a[0], a[1], runtime.meter());
}

Val distinct(Arguments a, Runtime& runtime) {
  Meter& meter = runtime.meter();
  const ListNode& list = *a[0].as_list();
  std::set<Val, KeyLess> keys;
  std::vector<Val> others;  // that no key can be
  std::vector<Val> items;
  for (std::size_t i = 0; i < list.size() && meter.tick(Meter::kItem); ++i) {
    Val item = list.at(i);
    if (!meter.room((2 * items.size() + 2) * sizeof(Val))) {
      break;
    }
    if (is_key(item)) {
      meter.tick(item.text().size());
      if (keys.insert(item).second) {
        items.push_back(std::move(item));
      }
    } else if (std::ranges::none_of(others, [&](const Val& other) {
                 return meter.over() || equal(other, item, meter);
               })) {
      others.push_back(item);
      items.push_back(std::move(item));
    }
  }
  return Val::list(std::move(items));
}

}  // namespace

void add_list_functions(FunctionTable& table) {
  constexpr std::array<const char*, 8> kOrdered = {"int",    "uint",  "double",    "bool",
                                                   "string", "bytes", "timestamp", "duration"};
  for (const char* const type : kOrdered) {
    table.add("isSorted", fmt::format("list_{}_is_sorted_bool", type),
              fmt::format("list({}).() -> bool", type), is_sorted);
    const std::string pick = fmt::format("list({}).() -> {}", type, type);
    table.add("min", fmt::format("list_{}_min_{}", type, type), pick, extreme<false>);
    table.add("max", fmt::format("list_{}_max_{}", type, type), pick, extreme<true>);
    table.add("sort", fmt::format("list_{}_sort", type),
              fmt::format("list({}).() -> list({})", type, type), sort);
    table.add(op::kSortBy, fmt::format("list_{}_sortByAssociatedKeys", type),
              fmt::format("list(T).(list({})) -> list(T)", type), sort_by);
  }
  table.add("sum", "list_int_sum_int", "list(int).() -> int", sum<Val::Kind::Int>);
  table.add("sum", "list_uint_sum_uint", "list(uint).() -> uint", sum<Val::Kind::Uint>);
  table.add("sum", "list_double_sum_double", "list(double).() -> double", sum<Val::Kind::Double>);
  table.add("sum", "list_duration_sum_duration", "list(duration).() -> duration",
            sum<Val::Kind::Duration>);
  table.add("indexOf", "list_a_index_of_int", "list(A).(A) -> int", index_in_list<false>);
  table.add("lastIndexOf", "list_a_last_index_of_int", "list(A).(A) -> int", index_in_list<true>);
  table.add("slice", "list_slice", "list(T).(int, int) -> list(T)", slice);
  table.add("flatten", "list_flatten", "list(list(T)).() -> list(T)", flatten);
  table.add("flatten", "list_flatten_int", "list(dyn).(int) -> list(dyn)", flatten);
  table.add("reverse", "list_reverse", "list(T).() -> list(T)", reversed);
  table.add("distinct", "list_distinct", "list(T).() -> list(T)", distinct);
  table.add("lists.range", "lists_range", "int -> list(int)", range);
  table.add("sets.contains", "list_sets_contains_list", "list(A), list(A) -> bool", sets_contains);
  table.add("sets.equivalent", "list_sets_equivalent_list", "list(A), list(A) -> bool",
            sets_equivalent);
  table.add("sets.intersects", "list_sets_intersects_list", "list(A), list(A) -> bool",
            sets_intersects);
}

}  // namespace athanor::cel
