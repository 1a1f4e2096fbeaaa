// SPDX-License-Identifier: Apache-2.0
// The query of a write, checked (docs/spec/apiserver.md 9.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "embedded/apiserver/request/http.hpp"
#include "embedded/kinds/status_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// ?fieldValidation=: what unknown and duplicate fields lead to.
enum class FieldValidation : std::uint8_t { Ignore, Warn, Strict };

// The parameters of a write.
struct WriteOptions {
  bool dry_run = false;
  bool force = false;
  bool manager_given = false;
  std::string manager{};  // the parameter, else from User-Agent
  FieldValidation validation = FieldValidation::Warn;

  // Returns {"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1",...} as admission sees them.
  [[nodiscard]] Value to_value(std::string_view kind) const;
};

// Reads the options; `kind` is CreateOptions, UpdateOptions, PatchOptions or DeleteOptions; `apply`
// when `force` means something.
StatusResult<WriteOptions> read_write_options(const Request& request, std::string_view kind,
                                              bool apply = false);

}  // namespace athanor::apiserver
