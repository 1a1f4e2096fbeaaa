// SPDX-License-Identifier: Apache-2.0
// Rows: key, revision, checksum, JSON text.
#include "embedded/store/rows.hpp"

#include <bit>
#include <cstring>
#include <utility>

#include "kube/text/json.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value_extent.hpp"

namespace athanor::store {
namespace {

constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15ULL;

// Eight bytes at a time: fast enough not to show at start-up. Guards against damage, not malice.
std::uint64_t mix(std::uint64_t sum, std::string_view bytes) {
  sum ^= bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = bytes.size() < sizeof(word) ? bytes.size() : sizeof(word);
    std::memcpy(&word, bytes.data(), taken);
    sum = std::rotl((sum ^ word) * kPrime, 29);
    bytes.remove_prefix(taken);
  }
  return sum;
}

}  // namespace

std::string row_key(const Stored& object) {
  return object.resource + "/" + object.key.ns + "/" + object.key.name;
}

std::int64_t row_checksum(std::string_view key, Revision revision, std::string_view body) {
  return std::bit_cast<std::int64_t>(mix(mix(revision * kPrime, key), body));
}

Result<StoredPtr> read_row(std::string_view key, Revision revision, std::int64_t checksum,
                           std::string_view body) {
  if (row_checksum(key, revision, body) != checksum) {
    return Error::internal("checksum mismatch");
  }
  const auto first = key.find('/');
  const auto second = key.find('/', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) {
    return Error::internal("malformed key");
  }
  auto stored = std::make_shared<Stored>();
  stored->resource = key.substr(0, first);
  stored->key.ns = key.substr(first + 1, second - first - 1);
  stored->key.name = key.substr(second + 1);
  stored->revision = revision;
  ATHANOR_TRY(stored->body, json::parse(body, {.max_depth = static_cast<int>(kMaxRowLevels)}));
  if (Object(stored->body).resource_version() != std::to_string(revision)) {
    return Error::internal("its resourceVersion is not the row's");
  }
  return StoredPtr(std::move(stored));
}

}  // namespace athanor::store
