// libcurl in its usual form: one reused easy handle, or a multi handle for concurrent transfers.

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"

static double bytes, chunks;
static long version = CURL_HTTP_VERSION_1_1;

static size_t count_bytes(char *data, size_t size, size_t count, void *unused) {
    (void)data, (void)unused;
    bytes += (double)(size * count);
    chunks++;
    return size * count;
}

static void check(CURLcode code) {
    if (code != CURLE_OK) measure_stop(curl_easy_strerror(code), 1);
}

static CURL *easy_handle(void) {
    CURL *handle = curl_easy_init();
    if (!handle) measure_fail("curl_easy_init");
    curl_easy_setopt(handle, CURLOPT_URL, measure_text("url"));
    curl_easy_setopt(handle, CURLOPT_CAINFO, measure_text("ca"));
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, count_bytes);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, version);
    curl_easy_setopt(handle, CURLOPT_PIPEWAIT, 1L);
    return handle;
}

static void read_row(void) {
    CURL *handle = easy_handle();
    measure_begin();
    check(curl_easy_perform(handle));
    measure_end(chunks, bytes);
}

static void perform_often(CURL *handle) {
    long long count = measure_number("count");
    check(curl_easy_perform(handle)); // opens the connection, and logs in
    bytes = 0;
    measure_begin();
    for (long long i = 0; i < count; i++) check(curl_easy_perform(handle));
    measure_end((double)count, bytes);
}

static void requests_row(void) {
    perform_often(easy_handle());
}

static void digest_row(void) {
    CURL *handle = easy_handle();
    int length;
    char *password = curl_easy_unescape(handle, measure_text("password"), 0, &length);
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_DIGEST);
    curl_easy_setopt(handle, CURLOPT_USERNAME, measure_text("user"));
    curl_easy_setopt(handle, CURLOPT_PASSWORD, password);
    perform_often(handle);
    if (bytes != 1024 * (double)measure_number("count")) measure_stop("challenged again", 1);
}

static void requests_many_row(void) {
    long long count = measure_number("count"), started = 0, done = 0;
    long connections = (long)measure_number("connections");
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections + 4);
    if (version == CURL_HTTP_VERSION_2TLS) curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 1L);
    CURL **handles = calloc((size_t)connections, sizeof *handles);
    if (!multi || !handles) measure_fail("curl_multi_init");
    for (long i = 0; i < connections; i++) handles[i] = easy_handle();
    measure_begin();
    for (long i = 0; i < connections && started < count; i++, started++) curl_multi_add_handle(multi, handles[i]);
    while (done < count) {
        int running, left;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL *handle = message->easy_handle;
            check(message->data.result);
            done++;
            curl_multi_remove_handle(multi, handle);
            if (started < count) {
                curl_multi_add_handle(multi, handle);
                started++;
            }
        }
        if (done < count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    measure_end((double)count, bytes);
}

static void handshakes_row(void) {
    CURL *handle = easy_handle();
    long long count = measure_number("count");
    curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(handle, CURLOPT_SSL_SESSIONID_CACHE, (long)measure_number("resume"));
    measure_begin();
    for (long long i = 0; i < count; i++) check(curl_easy_perform(handle));
    measure_end((double)count, bytes);
}

static size_t give_bytes(char *data, size_t size, size_t count, void *rest) {
    size_t wanted = size * count, *left = rest;
    if (wanted > *left) wanted = *left;
    (void)data; // the contents of the buffer do not matter
    *left -= wanted;
    return wanted;
}

static void ftp_write_row(void) {
    CURL *handle = easy_handle();
    size_t left = (size_t)measure_number("bytes");
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, give_bytes);
    curl_easy_setopt(handle, CURLOPT_READDATA, &left);
    curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 65536L);
    measure_begin();
    check(curl_easy_perform(handle));
    measure_end(1, (double)measure_number("bytes"));
}

// One handle keeps its session. NOCWD saves one command per file, as in our row.
static void ftp_files_row(void) {
    CURL *handle = easy_handle();
    long long count = measure_number("count");
    char url[256];
    curl_easy_setopt(handle, CURLOPT_FTP_FILEMETHOD, (long)CURLFTPMETHOD_NOCWD);
    measure_begin();
    for (long long i = 0; i < count; i++) {
        snprintf(url, sizeof url, "%ssmall/%lld", measure_text("url"), i);
        curl_easy_setopt(handle, CURLOPT_URL, url);
        check(curl_easy_perform(handle));
    }
    measure_end((double)count, bytes);
}

static void ftp_list_row(void) {
    CURL *handle = easy_handle();
    char url[256];
    snprintf(url, sizeof url, "%smany-%lld/", measure_text("url"), measure_number("count"));
    curl_easy_setopt(handle, CURLOPT_URL, url);
    measure_begin();
    check(curl_easy_perform(handle));
    measure_end((double)measure_number("count"), bytes);
}

/// Performs a row over HTTP/2, on one connection.
static void over_http2(void (*row)(void)) {
    version = CURL_HTTP_VERSION_2TLS;
    row();
}

static void read_http2_row(void) { over_http2(read_row); }
static void requests_http2_row(void) { over_http2(requests_row); }
static void requests_many_http2_row(void) { over_http2(requests_many_row); }

int main(int count, char **words) {
    static const struct measure_row rows[] = {
        {"read", read_row},
        {"requests", requests_row},
        {"digest", digest_row},
        {"requests-many", requests_many_row},
        {"read-http2", read_http2_row},
        {"requests-http2", requests_http2_row},
        {"requests-many-http2", requests_many_http2_row},
        {"handshakes", handshakes_row},
        {"ftp-write", ftp_write_row},
        {"ftp-files", ftp_files_row},
        {"ftp-list", ftp_list_row},
        {NULL, NULL},
    };
    check(curl_global_init(CURL_GLOBAL_ALL));
    return measure_main(count, words, rows);
}
