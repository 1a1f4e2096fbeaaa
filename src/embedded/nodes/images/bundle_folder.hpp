// SPDX-License-Identifier: Apache-2.0
// Tekton bundles of a lab: OCI layouts, each layer of which holds one Task, Pipeline or StepAction
// (docs/spec/tekton.md 1). A layout may come from strangers: no link in it is followed, each blob
// must have its digest, and everything is bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// The probe's name: its queries begin with it and a colon, and go on with
// {"folder": …, "bundle": …, "kind": …, "name": …}.
inline constexpr std::string_view kBundleProbe = "bundle";

// Limits of one bundle.
struct BundleLimits {
  std::size_t objects = 20;                             // Tekton's own limit
  std::int64_t object_bytes = std::int64_t{1} << 20;    // of one definition, and of one layer
  std::int64_t archive_bytes = std::int64_t{32} << 20;  // of an archive that is unpacked
  std::int64_t archive_entries = 1'000;
};

// Answers a query of the probe: {"text": …, "uri": …, "digest": HEX}. Bundle "HOST/NAME:TAG" or
// "HOST/NAME@sha256:HEX" is the layout FOLDER/HOST/NAME or the archive FOLDER/HOST/NAME.tar.
// Errors, each with the bundle's name: 400 for a hostile or damaged layout or one beyond the
// limits, 404 where there is no such bundle or no such object in it.
Result<Value> read_bundle(const std::string& query, const BundleLimits& limits = {});

}  // namespace athanor::nodes
