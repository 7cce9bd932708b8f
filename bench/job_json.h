// Jobs and rows as JSON: how they pass between processes and into the journal. Every field, by its C++ name.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/job.h"

namespace quire::bench {

nlohmann::json to_json(const Workload& workload);
nlohmann::json to_json(const Job& job);
nlohmann::json to_json(const Row& row);

/// The inverse. Errors (invalid_argument) name the key that is missing or of another type.
Result<Job> job_from_json(const nlohmann::json& json);
Result<Row> row_from_json(const nlohmann::json& json);

}  // namespace quire::bench
