// SPDX-License-Identifier: Apache-2.0
// Reading and making static token files.
#include "embedded/transport/token_file.hpp"

#include <openssl/rand.h>

#include <array>

#include "base/digest.hpp"
#include "net/crypto.hpp"
#include "net/private_file.hpp"

namespace athanor::transport {
namespace {

// The columns of one line; quotes keep commas together and are doubled to be literal.
std::vector<std::string> split_columns(std::string_view line) {
  std::vector<std::string> columns(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) {
        columns.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      columns.emplace_back();
    } else {
      columns.back() += line[i];
    }
  }
  return columns;
}

std::vector<std::string> split_groups(std::string_view text) {
  std::vector<std::string> groups;
  while (!text.empty()) {
    const std::size_t end = text.find(',');
    std::string_view group = text.substr(0, end);
    while (!group.empty() && group.front() == ' ') {
      group.remove_prefix(1);
    }
    if (!group.empty()) {
      groups.emplace_back(group);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return groups;
}

Result<std::string> random_token() {
  std::array<unsigned char, 24> bits{};
  if (RAND_bytes(bits.data(), static_cast<int>(bits.size())) != 1) {
    return net::openssl_error("cannot make a token");
  }
  return base64url_encode({reinterpret_cast<const char*>(bits.data()), bits.size()});
}

}  // namespace

Result<std::vector<apiserver::StaticToken>> parse_token_file(std::string_view text) {
  std::vector<apiserver::StaticToken> tokens;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      continue;
    }
    auto columns = split_columns(line);
    if (columns.size() < 3 || columns[0].empty()) {
      return Error::invalid("line " + std::to_string(number),
                            "needs at least a token, a user and a uid");
    }
    tokens.push_back(
        {.token = std::move(columns[0]),
         .user = std::move(columns[1]),
         .uid = std::move(columns[2]),
         .groups = columns.size() > 3 ? split_groups(columns[3]) : std::vector<std::string>()});
  }
  return tokens;
}

Result<std::vector<apiserver::StaticToken>> ensure_token_file(const std::string& path) {
  ATHANOR_TRY(auto text, net::read_file(path));
  if (!text) {
    ATHANOR_TRY(const auto token, random_token());
    text = token + ",kubernetes-admin,kubernetes-admin,\"system:masters\"\n";
    ATHANOR_TRY_VOID(net::write_private_file(path, *text));
  }
  auto tokens = parse_token_file(*text);
  if (!tokens.ok()) {
    return tokens.error().with_context(path);
  }
  return tokens;
}

}  // namespace athanor::transport
