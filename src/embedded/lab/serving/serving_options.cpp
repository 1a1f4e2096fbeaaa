// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/serving/serving_options.hpp"

#include <fmt/core.h>

#include "kube/text/yaml.hpp"
#include "net/private_file.hpp"

namespace athanor::lab {

Result<transport::Encryption> read_encryption(const std::string& path) {
  if (path.empty()) {
    return transport::Encryption();
  }
  ATHANOR_TRY(const auto text, net::read_file(path));
  if (!text) {
    return Error::not_found(fmt::format("open {}: no such file or directory", path));
  }
  ATHANOR_TRY(const Value document, yaml::parse(*text));
  auto encryption = transport::Encryption::parse(document);
  if (!encryption.ok()) {
    return encryption.error().with_context("loading " + path);
  }
  return encryption;
}

}  // namespace athanor::lab
