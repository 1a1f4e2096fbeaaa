// SPDX-License-Identifier: Apache-2.0
// The subject of a certificate signing request, read from its DER form (RFC 2986).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::apiserver {

// Names of the requested certificate that admission and signers check.
struct CertificateSubject {
  std::string common_name{};  // the last one
  std::vector<std::string> organizations{};
};

// Reads the first request in PEM form; nullopt: there is none that can be read. Its signature is
// not looked at.
std::optional<CertificateSubject> certificate_subject(std::string_view pem);

}  // namespace athanor::apiserver
