// SPDX-License-Identifier: Apache-2.0
// The tables of kube/data, embedded at build time (cmake/EmbedText.cmake). Lines end with '\n'.
#pragma once

#include <string_view>

namespace athanor::data {

// Returns Appendix S: every built-in type.
std::string_view types_text();
// Returns Appendix D: every built-in resource.
std::string_view resources_text();
// Returns Appendix T: table columns of built-in resources.
std::string_view table_columns_text();
// Returns Appendix R: the default RBAC objects.
std::string_view rbac_text();
// Returns "TYPE field field": fields whose zero value is a value (pointers in the Go types); when
// such a field is always present, it shows null instead of its zero value.
std::string_view presence_text();
// Returns "TYPE text" and, indented, its fields' "NAME text": the texts of kubectl explain. "*" for
// fields of any type.
std::string_view descriptions_text();

}  // namespace athanor::data
