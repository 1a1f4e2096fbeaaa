// SPDX-License-Identifier: Apache-2.0
// Tables: what `kubectl get` shows (docs/spec/apiserver.md 5.4).
#include <fmt/format.h>

#include <algorithm>

#include "base/cancellation.hpp"
#include "embedded/apiserver/request/shape.hpp"
#include "embedded/kinds/kind_behaviour.hpp"
#include "kube/text/json.hpp"
#include "kube/text/jsonpath.hpp"

namespace athanor::apiserver {
namespace {

Value column_definitions(const ResourceInfo& resource) {
  Value columns = Value::list();
  for (const PrinterColumn& column : resource.columns) {
    columns.push_back(Value::object({{"name", column.name},
                                     {"type", column.type},
                                     {"format", column.format},
                                     {"description", column.description},
                                     {"priority", column.priority}}));
  }
  return columns;
}

Value age_cell(const Value& time, Instant now) {
  const auto instant = parse_time(time.as_string());
  return instant ? Value(format_age(now - *instant)) : Value("<unknown>");
}

Value custom_cell(const PrinterColumn& column, const JsonPath& path, const Value& object,
                  Instant now) {
  const Value found = path.first(object);
  if (found.is_null()) {
    return {};
  }
  if (column.type == "date") {
    const auto instant = parse_time(found.as_string());
    return instant ? Value(format_age(now - *instant)) : Value();
  }
  if (column.type == "integer") {
    return found.is_number() ? Value(found.as_int(static_cast<std::int64_t>(found.as_double())))
                             : Value();
  }
  if (column.type == "number") {
    return found.is_number() ? found : Value();
  }
  if (column.type == "boolean") {
    return found.is_bool() ? found : Value();
  }
  return found.is_string() ? found : Value(json::print(found));
}

// Bytes of the texts in the cells of one row, and of a table. A definition may name thousands of
// columns for one large value; what is beyond stays empty.
constexpr std::size_t kRowBytes = std::size_t{512} << 10;
constexpr std::size_t kTableBytes = std::size_t{128} << 20;

// Of custom resources, and of built-in kinds without cells of their own.
class GenericCells {
 public:
  explicit GenericCells(const ResourceInfo& resource) : resource_(resource) {
    for (const PrinterColumn& column : resource.columns) {
      auto path = JsonPath::parse(column.json_path);
      paths_.push_back(path.ok() ? *std::move(path) : JsonPath());
    }
  }

  [[nodiscard]] Value row(const Value& object, Instant now) {
    Value cells = Value::list();
    std::size_t left = std::min(kRowBytes, left_);
    for (std::size_t i = 0; i < resource_.columns.size(); ++i) {
      give_up_if_cancelled();
      const PrinterColumn& column = resource_.columns[i];
      if (column.name == "Name") {
        cells.push_back(object["metadata"]["name"]);
      } else if (!column.json_path.empty()) {
        Value cell = left > 0 ? custom_cell(column, paths_[i], object, now) : Value();
        const std::size_t size = std::min(left, cell.as_string().size());
        left -= size;
        left_ -= size;
        cells.push_back(std::move(cell));
      } else if (column.name == "Age") {
        cells.push_back(age_cell(object["metadata"]["creationTimestamp"], now));
      } else if (column.name == "Created At") {
        cells.push_back(object["metadata"]["creationTimestamp"]);
      } else {
        cells.push_back(Value());
      }
    }
    return cells;
  }

 private:
  const ResourceInfo& resource_;
  std::vector<JsonPath> paths_{};
  std::size_t left_ = kTableBytes;
};

// The condition of the row of a pod that ended; Null of all others. Clients grey such rows.
Value completion_of(const ResourceInfo& resource, const Value& object) {
  if (resource.storage != "pods") {
    return {};
  }
  const std::string_view phase = object["status"]["phase"].as_string();
  if (phase != "Succeeded" && phase != "Failed") {
    return {};
  }
  return Value::object(
      {{"type", "Completed"},
       {"status", "True"},
       {"reason", phase},
       {"message", phase == "Failed" ? "The pod failed." : "The pod has completed successfully."}});
}

Value row_object(const Accepted& accepted, IncludeObject include, const Value& object) {
  switch (include) {
    case IncludeObject::None:
      return {};
    case IncludeObject::Whole:
      return object;
    case IncludeObject::Metadata:
      break;
  }
  return partial_metadata(accepted, object);
}

}  // namespace

Value make_table(const ResourceInfo& resource, const Accepted& accepted, const TableShape& shape,
                 const std::vector<Value>& objects, Value metadata, Instant now) {
  GenericCells generic(resource);
  const bool own_cells = resource.behaviour != nullptr && resource.behaviour->cells != nullptr;
  std::vector<Value> rows;
  rows.reserve(objects.size());
  for (const Value& object : objects) {
    give_up_if_cancelled();
    Value cells =
        own_cells ? Value::list(resource.behaviour->cells(object, now)) : generic.row(object, now);
    Value row = Value::object({{"cells", std::move(cells)}});
    if (const Value completed = completion_of(resource, object); !completed.is_null()) {
      row.set("conditions", Value::list({completed}));
    }
    row.set("object", row_object(accepted, shape.include, object));
    rows.push_back(std::move(row));
  }
  return Value::object(
      {{"kind", "Table"},
       {"apiVersion", "meta.k8s.io/" + accepted.meta_version},
       {"metadata", std::move(metadata)},
       {"columnDefinitions", shape.headless ? Value() : column_definitions(resource)},
       {"rows", Value::list(std::move(rows))}});
}

}  // namespace athanor::apiserver
