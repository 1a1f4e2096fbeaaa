// SPDX-License-Identifier: Apache-2.0
// From a parsed resource path and method to the handler that answers it.
#include <algorithm>
#include <array>

#include "embedded/apiserver/read/list_options.hpp"
#include "embedded/apiserver/read/selection.hpp"
#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/route.hpp"
#include "embedded/apiserver/request/subresource.hpp"

namespace athanor::apiserver {
namespace {

struct Handler {
  StatusResult<Response> (*run)(Call& call) = nullptr;
};

// Subresources that are views of the object and written like it.
constexpr std::array<std::string_view, 5> kObjectViews = {"status", "finalize", "approval",
                                                          "resize", "ephemeralcontainers"};

// Returns true for componentstatuses, which are read and not stored.
bool is_computed(const ResourceInfo& resource) {
  return resource.group.empty() && resource.plural == "componentstatuses";
}

StatusResult<void> find_resource(Call& call) {
  const RequestPath& path = call.path;
  if (!call.table->has_group(path.group)) {
    return status::page_not_found();
  }
  call.resource = call.table->find(path.group, path.version, path.resource);
  if (call.resource == nullptr) {
    return status::unknown_resource();
  }
  if (!call.resource->namespaced && !path.ns.empty() && path.resource != "namespaces") {
    return status::unknown_resource();
  }
  return {};
}

StatusResult<Handler> collection_handler(const Call& call) {
  const ResourceInfo& resource = *call.resource;
  const std::string& verb = call.path.verb;
  const bool lacks_namespace = resource.namespaced && call.path.ns.empty();
  if (verb == "create" && !lacks_namespace && resource.has_verb("create")) {
    if (const SubresourceHandler own = subresource_handler(resource, "", "POST")) {
      return Handler{own};
    }
    if (resource.stored) {
      return Handler{&handle_create};
    }
  } else if (verb == "list" && resource.has_verb("list")) {
    return Handler{is_computed(resource) ? &list_component_statuses : &handle_list};
  } else if (verb == "watch" && resource.has_verb("watch")) {
    return Handler{&handle_watch};
  } else if (verb == "deletecollection" && !lacks_namespace &&
             resource.has_verb("deletecollection")) {
    return Handler{&handle_delete_collection};
  }
  return status::method_not_allowed();
}

StatusResult<Handler> item_handler(const Call& call) {
  const ResourceInfo& resource = *call.resource;
  const std::string& verb = call.path.verb;
  if (resource.namespaced && call.path.ns.empty()) {
    return status::unknown_resource();
  }
  if (!resource.has_verb(verb)) {
    return status::method_not_allowed();
  }
  if (verb == "create" && resource.is_custom) {
    return Handler{&handle_create};  // whatever name the URL has, the object's counts
  }
  if (verb == "get") {
    return Handler{is_computed(resource) ? &get_component_status : &handle_get};
  }
  if (verb == "watch") {
    return Handler{&handle_watch};
  }
  if (verb == "update") {
    return Handler{&handle_update};
  }
  if (verb == "patch") {
    return Handler{&handle_patch};
  }
  if (verb == "delete") {
    return Handler{&handle_delete};
  }
  return status::method_not_allowed();
}

StatusResult<Handler> subresource_route(const Call& call) {
  const ResourceInfo& resource = *call.resource;
  const SubresourceInfo* sub = resource.subresource(call.path.subresource);
  if (resource.namespaced && call.path.ns.empty()) {
    return status::unknown_resource();
  }
  if (sub == nullptr) {
    return resource.is_custom ? status::not_found(call.qualified_resource(), call.path.name)
                              : status::unknown_resource();
  }
  if (const SubresourceHandler own =
          subresource_handler(resource, sub->name, call.request.method)) {
    return Handler{own};
  }
  const std::string& verb = call.path.verb;
  if (std::find(sub->verbs.begin(), sub->verbs.end(), verb) == sub->verbs.end()) {
    return resource.is_custom ? status::method_not_supported(call.qualified_resource(), verb)
                              : status::method_not_allowed();
  }
  if (std::find(kObjectViews.begin(), kObjectViews.end(), sub->name) == kObjectViews.end()) {
    StatusError error = status::of({.code = 501,
                                    .reason = "NotImplemented",
                                    .message = "this server does not stream to pods and services"});
    return error;
  }
  if (verb == "get") {
    return Handler{&handle_get};
  }
  return Handler{verb == "update" ? &handle_update : &handle_patch};
}

// Returns false for kinds that are only posted, such as reviews: they have no table.
bool has_tables(const Call& call) {
  constexpr std::array<std::string_view, 3> kPosted = {"binding", "eviction", "token"};
  const bool read = call.resource->stored || is_computed(*call.resource);
  return read && std::find(kPosted.begin(), kPosted.end(), call.path.subresource) == kPosted.end();
}

}  // namespace

StatusResult<Response> route_resource(Call& call) {
  ATHANOR_TRY_VOID(find_resource(call));
  StatusResult<Handler> handler = call.path.name.empty()           ? collection_handler(call)
                                  : !call.path.subresource.empty() ? subresource_route(call)
                                                                   : item_handler(call);
  if (call.resource->is_custom && !call.resource->deprecation_warning.empty()) {
    call.warnings.push_back(call.resource->deprecation_warning);
  }
  if (!handler.ok()) {
    return std::move(handler).error();
  }
  if (call.path.subresource == "proxy") {
    return handler->run(call);  // what the client accepts is for the backend to know
  }
  if (call.resource->is_custom && call.path.verb == "list") {
    // Reported before what is accepted.
    ATHANOR_TRY_VOID(Selection::check_syntax(call.request));
    const auto options = read_list_options(call.request, false);
    if (!options.ok() && !is_for_storage(options.error())) {
      return options.error();
    }
  }
  ATHANOR_TRY(call.accepted, negotiate(call.request, {.transforms = true,
                                                      .table = has_tables(call),
                                                      .watch = call.path.verb == "watch",
                                                      .custom = call.resource->is_custom,
                                                      .collection = call.path.verb == "list"}));
  if (!call.resource->is_custom && !call.resource->deprecation_warning.empty()) {
    call.warnings.push_back(call.resource->deprecation_warning);
  }
  return handler->run(call);
}

}  // namespace athanor::apiserver
