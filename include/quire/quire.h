// All of Quire's C++ API.
#pragma once

#include "quire/attention.h"
#include "quire/convert.h"
#include "quire/executor.h"
#include "quire/implementation.h"
#include "quire/reference.h"
#include "quire/status.h"
#include "quire/types.h"
#include "quire/version.h"
