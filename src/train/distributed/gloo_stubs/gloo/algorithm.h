#pragma once
// Empty on purpose: ProcessGroupGloo.hpp includes it and uses nothing of it. See context.h.
