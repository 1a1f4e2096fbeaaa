// SPDX-License-Identifier: Apache-2.0
// Checks of image references.
#include "systems/numa/model/image.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace athanor::numa {

bool is_digest(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  constexpr std::size_t kDigits = 64;
  return text.size() == kAlgorithm.size() + kDigits && text.starts_with(kAlgorithm) &&
         text.find_first_not_of("0123456789abcdefABCDEF", kAlgorithm.size()) ==
             std::string_view::npos;
}

Result<void> check_scheduler_image(std::string_view image, std::span<const std::string> trusted) {
  const std::size_t at = image.find('@');
  if (at == std::string_view::npos) {
    return Error::bad_request(
        fmt::format("image \"{}\" must be referenced by digest, not by tag", image));
  }
  const std::string_view digest = image.substr(at + 1);
  if (!is_digest(digest)) {
    return Error::bad_request(fmt::format(
        "image \"{}\" has malformed digest \"{}\": expected sha256:<64 hex chars>", image, digest));
  }
  if (std::ranges::find(trusted, digest) == trusted.end()) {
    return Error::bad_request(
        fmt::format("image \"{}\" digest \"{}\" is not in the trusted list. To extend the list, "
                    "update the environment variable \"SCHEDULER_IMAGE_DIGESTS\" with comma "
                    "separated list of digests",
                    image, digest));
  }
  return {};
}

}  // namespace athanor::numa
