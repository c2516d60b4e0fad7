#pragma once

#include "report/report.h"

namespace weft::report {

// The sections of a page, in its order; the table is in report.cpp. Each reads what it draws from
// the input and adds nothing if there is none.

void add_overview(const ReportInput& input, Page& page);
void add_sweep(const ReportInput& input, Page& page);
void add_training(const ReportInput& input, Page& page);
void add_classification(const ReportInput& input, Page& page);
void add_examples(const ReportInput& input, Page& page);
void add_generation(const ReportInput& input, Page& page);
void add_images(const ReportInput& input, Page& page);
void add_attention(const ReportInput& input, Page& page);
void add_attributions(const ReportInput& input, Page& page);
void add_positions(const ReportInput& input, Page& page);
void add_embeddings(const ReportInput& input, Page& page);
void add_data(const ReportInput& input, Page& page);
void add_performance(const ReportInput& input, Page& page);
void add_model(const ReportInput& input, Page& page);
void add_setup(const ReportInput& input, Page& page);

}  // namespace weft::report
