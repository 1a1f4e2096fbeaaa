// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/tools/tar.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace athanor::numa {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameSize = 100;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixSize = 155;
constexpr std::size_t kSumAt = 148;
constexpr std::size_t kSumSize = 8;

void put(std::string& header, std::size_t at, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<std::ptrdiff_t>(at));
}

Result<std::string> header_of(const std::string& path, std::size_t size, Instant modified) {
  std::string header(kBlock, '\0');
  std::size_t cut = 0;  // where the prefix ends
  if (path.size() > kNameSize) {
    cut = path.find('/', path.size() - kNameSize - 1);
    if (cut == std::string::npos || cut > kPrefixSize) {
      return Error::bad_request(fmt::format("{}: path too long for a tar archive", path));
    }
    put(header, kPrefixAt, path.substr(0, cut));
    ++cut;
  }
  put(header, 0, path.substr(cut));
  put(header, 100, "0000644");
  put(header, 108, "0000000");
  put(header, 116, "0000000");
  put(header, 124, fmt::format("{:011o}", size));
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(modified.time_since_epoch()).count();
  put(header, 136, fmt::format("{:011o}", std::max<std::int64_t>(seconds, 0)));
  put(header, kSumAt, std::string(kSumSize, ' '));
  header[156] = '0';
  put(header, 257, "ustar");
  put(header, 263, "00");
  const auto sum = std::accumulate(header.begin(), header.end(), 0U, [](unsigned all, char byte) {
    return all + static_cast<unsigned char>(byte);
  });
  put(header, kSumAt, fmt::format("{:06o}", sum));
  header[kSumAt + 6] = '\0';
  return header;
}

}  // namespace

Result<std::string> make_tar(const std::map<std::string, std::string>& files, Instant modified) {
  std::string archive;
  for (const auto& [path, content] : files) {
    ATHANOR_TRY(const std::string header, header_of(path, content.size(), modified));
    archive += header + content;
    archive.resize((archive.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  archive.resize(archive.size() + 2 * kBlock, '\0');
  return archive;
}

}  // namespace athanor::numa
