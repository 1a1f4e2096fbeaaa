// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::Create:
      return "CREATE";
    case Operation::Update:
      return "UPDATE";
    case Operation::Delete:
      return "DELETE";
    case Operation::Connect:
      break;
  }
  return "CONNECT";
}

bool is_main_write(const AdmissionAttributes& request, std::string_view group,
                   std::string_view plural) {
  return request.resource->plural == plural && request.resource->group == group &&
         request.subresource.empty() &&
         (request.operation == Operation::Create || request.operation == Operation::Update);
}

bool creates(const AdmissionAttributes& request, std::string_view group, std::string_view plural) {
  return request.operation == Operation::Create && is_main_write(request, group, plural);
}

StatusError refuse(const AdmissionAttributes& request, std::string_view text) {
  const std::string_view name =
      request.key.name.empty() ? std::string_view("Unknown") : request.key.name;
  return status::forbidden({request.resource->plural, request.resource->group}, name, text);
}

}  // namespace athanor::apiserver
