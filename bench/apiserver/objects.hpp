// SPDX-License-Identifier: Apache-2.0
// The objects of the benchmark: ConfigMaps with a payload of 1 KB, 1.5 KB on the wire, one in ten
// of which a label selects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "apiserver/http2_client.hpp"

namespace athanor::bench {

std::string object_name(std::size_t number);
std::string collection_path(std::string_view ns);
std::string object_path(std::string_view ns, std::size_t number);
// The ConfigMap as a client writes it; `version` changes its payload.
std::string object_text(std::string_view ns, std::size_t number, std::size_t version);

Query create_namespace(const std::string& name);
Query create_object(std::string_view ns, std::size_t number);
Query replace_object(std::string_view ns, std::size_t number, std::size_t version);
Query patch_object(std::string_view ns, std::size_t number, std::size_t version);
Query apply_object(std::string_view ns, std::size_t number, std::size_t version);
Query delete_object(std::string_view ns, std::size_t number);
Query get_object(std::string_view ns, std::size_t number);

}  // namespace athanor::bench
