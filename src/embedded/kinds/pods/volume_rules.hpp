// SPDX-License-Identifier: Apache-2.0
// The rules of what a pod's volumes are made of.
#pragma once

#include <string>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Checks the members of one volume's sources; that there is exactly one is checked elsewhere.
void check_volume_source(FieldErrors& errors, const Value& volume, const std::string& path);
// Checks a hostPath of a volume or a persistent volume.
void check_host_path(FieldErrors& errors, const Value& source, const std::string& path);
// Checks an NFS export, likewise.
void check_nfs(FieldErrors& errors, const Value& source, const std::string& path);

// Checks how a volume may be mounted.
void check_access_modes(FieldErrors& errors, const Value& modes, const std::string& path);
// Checks the spec of a PersistentVolumeClaim, or of a template of one.
void check_claim_spec(FieldErrors& errors, const Value& spec, const std::string& path);
// Checks for a relative path that does not lead upwards.
void check_descending_path(FieldErrors& errors, const std::string& path, std::string_view text);

}  // namespace athanor::apiserver
