// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/token_age.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {

std::optional<Instant> refresh_time(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos) {
    return std::nullopt;
  }
  const auto text = base64url_decode(token.substr(first + 1, second - first - 1));
  const auto claims = text ? json::parse(*text) : Result<Value>(Value());
  if (!claims.ok() || !(*claims)["iat"].is_integer() || !(*claims)["exp"].is_integer()) {
    return std::nullopt;
  }
  constexpr std::int64_t kDay = std::int64_t{24} * 60 * 60;
  const std::int64_t issued = (*claims)["iat"].as_int();
  const std::int64_t life = std::max<std::int64_t>(0, (*claims)["exp"].as_int() - issued);
  // 4/5 of a life that may be as long as its number can be.
  return Instant(std::chrono::seconds(issued + std::min(life / 5 * 4 + life % 5 * 4 / 5, kDay)));
}

}  // namespace athanor::nodes
