// SPDX-License-Identifier: Apache-2.0
// Saved jobs: ConfigMaps in the jobs' namespace that the command line and the console share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/session/session.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "views/listing.hpp"

namespace athanor::cli {

inline constexpr const char* kTemplateLabel = "athanor.dev/template";
inline constexpr const char* kTemplateSelector = "athanor.dev/template=job";

// Reads the FournosJob of a template. Errors: there is none, or it is damaged.
Result<Value> read_template(Session& session, const std::string& name);

// Returns the ConfigMap of a template, with the job without its name. Pure.
Value template_object(const std::string& name, const std::string& description, Value job);
// Returns the FournosJob in a template's ConfigMap. Pure. Errors: the text is damaged.
Result<Value> job_of_template(const Object& config_map);
// Returns the rows of templates by name. Pure.
views::Listing template_listing(const std::vector<Object>& config_maps, bool with_namespace,
                                Instant now);

}  // namespace athanor::cli
