#include "measure.h"
#include "nghttp2rows.h"

// 12j: loads the server at port=, whose process is process=, and measures that process.
void load_row(void) {
    measure_process((int)measure_number("process"));
    measure_begin();
    long long count = measure_number("count");
    measure_load((int)measure_number("port"), count, measure_text("load-cpu"));
    measure_end((double)count, 0);
}
