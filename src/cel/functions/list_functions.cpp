// SPDX-License-Identifier: Apache-2.0
// Lists: sum, min, max, isSorted, indexOf, lastIndexOf; and sets of list items.
#include <fmt/core.h>

#include <array>
#include <string>

#include "cel/functions/functions.hpp"

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
Val index_of(Arguments a, Runtime&) {
  const ListNode& list = *a[0].as_list();
  std::int64_t found = -1;
  for (std::size_t i = 0; i < list.size() && (kLast || found < 0); ++i) {
    if (equal(list.at(i), a[1])) {
      found = static_cast<std::int64_t>(i);
    }
  }
  return Val::integer(found);
}

bool has_item(const ListNode& list, const Val& item) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (equal(list.at(i), item)) {
      return true;
    }
  }
  return false;
}

bool has_all(const ListNode& list, const ListNode& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!has_item(list, items.at(i))) {
      return false;
    }
  }
  return true;
}

Val sets_contains(Arguments a, Runtime&) {
  return Val::boolean(has_all(*a[0].as_list(), *a[1].as_list()));
}

Val sets_equivalent(Arguments a, Runtime&) {
  return Val::boolean(has_all(*a[0].as_list(), *a[1].as_list()) &&
                      has_all(*a[1].as_list(), *a[0].as_list()));
}

Val sets_intersects(Arguments a, Runtime&) {
  const ListNode& items = *a[1].as_list();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (has_item(*a[0].as_list(), items.at(i))) {
      return Val::boolean(true);
    }
  }
  return Val::boolean(false);
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
  }
  table.add("sum", "list_int_sum_int", "list(int).() -> int", sum<Val::Kind::Int>);
  table.add("sum", "list_uint_sum_uint", "list(uint).() -> uint", sum<Val::Kind::Uint>);
  table.add("sum", "list_double_sum_double", "list(double).() -> double", sum<Val::Kind::Double>);
  table.add("sum", "list_duration_sum_duration", "list(duration).() -> duration",
            sum<Val::Kind::Duration>);
  table.add("indexOf", "list_a_index_of_int", "list(A).(A) -> int", index_of<false>);
  table.add("lastIndexOf", "list_a_last_index_of_int", "list(A).(A) -> int", index_of<true>);
  table.add("sets.contains", "list_sets_contains_list", "list(A), list(A) -> bool", sets_contains);
  table.add("sets.equivalent", "list_sets_equivalent_list", "list(A), list(A) -> bool",
            sets_equivalent);
  table.add("sets.intersects", "list_sets_intersects_list", "list(A), list(A) -> bool",
            sets_intersects);
}

}  // namespace athanor::cel
