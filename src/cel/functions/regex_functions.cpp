// SPDX-License-Identifier: Apache-2.0
// find() and findAll().
#include "base/utf8.hpp"
#include "cel/functions/functions.hpp"
#include "kube/text/regex.hpp"

namespace athanor::cel {
namespace {

Val find(Arguments a, Runtime& runtime) {
  const auto regex = runtime.regex(a[1].text());
  if (!regex.ok()) {
    return Val::error(regex.error().message);
  }
  const auto match = (*regex)->find(a[0].text());
  return Val::string(match ? a[0].text().substr(match->start, match->size) : std::string_view());
}

Val find_all(Arguments a, Runtime& runtime) {
  const auto regex = runtime.regex(a[1].text());
  if (!regex.ok()) {
    return Val::error(regex.error().message);
  }
  const std::string_view text = a[0].text();
  const std::int64_t most = a.size() == 3 ? a[2].as_int() : -1;
  std::vector<Val> found;
  std::size_t from = 0;
  std::size_t last_end = std::string_view::npos;
  constexpr std::size_t kMatchBytes = sizeof(Val) + 32;  // and a text's own memory
  while (from <= text.size() && (most < 0 || static_cast<std::int64_t>(found.size()) < most) &&
         runtime.meter().make(kMatchBytes)) {
    const auto match = (*regex)->find(text, from);
    if (!match) {
      break;
    }
    const std::size_t end = match->start + match->size;
    // an empty match right behind another one does not count
    if (match->size > 0 || match->start != last_end) {
      found.push_back(Val::string(text.substr(match->start, match->size)));
    }
    last_end = end;
    from =
        match->size > 0 ? end : end + std::max<std::size_t>(utf8::decode(text.substr(end)).size, 1);
  }
  return Val::list(std::move(found));
}

}  // namespace

void add_regex_functions(FunctionTable& table) {
  table.add("find", "string_find_string", "string.(string) -> string", find);
  table.add("findAll", "string_find_all_string", "string.(string) -> list(string)", find_all);
  table.add("findAll", "string_find_all_string_int", "string.(string, int) -> list(string)",
            find_all);
}

}  // namespace athanor::cel
