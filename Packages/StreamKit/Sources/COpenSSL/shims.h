#ifndef NETKIT_COPENSSL_SHIMS_H
#define NETKIT_COPENSSL_SHIMS_H

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "StreamKit needs OpenSSL 3.0 or later."
#endif

/* Everything below is a macro with arguments, or made of one, in OpenSSL's headers; Swift imports none of those. */

static const uint64_t netkit_SSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t netkit_SSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t netkit_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;

static const unsigned long netkit_XN_FLAG_RFC2253 = XN_FLAG_RFC2253;

static inline int netkit_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline int netkit_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_max_proto_version(context, version);
}

static inline void netkit_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_mode(context, mode);
}

static inline void netkit_SSL_CTX_set_read_ahead(SSL_CTX *context, int on) {
    SSL_CTX_set_read_ahead(context, on);
}

static inline void netkit_SSL_set_read_ahead(SSL *ssl, int on) {
    SSL_set_read_ahead(ssl, on);
}

static inline void netkit_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_session_cache_mode(context, mode);
}

static inline void netkit_SSL_CTX_sess_set_cache_size(SSL_CTX *context, long count) {
    SSL_CTX_sess_set_cache_size(context, count);
}

static inline int netkit_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline int netkit_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, (char *)name);
}

static inline long netkit_SSL_get_extms_support(SSL *ssl) {
    return SSL_get_extms_support(ssl);
}

static inline void netkit_SSL_CTX_set_status_callback(SSL_CTX *context, int (*callback)(SSL *, void *)) {
    SSL_CTX_set_tlsext_status_cb(context, callback);
}

static inline void netkit_SSL_request_ocsp(SSL *ssl) {
    SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp);
}

static inline long netkit_SSL_get_ocsp_response(SSL *ssl, const unsigned char **bytes) {
    return SSL_get_tlsext_status_ocsp_resp(ssl, bytes);
}

/* OpenSSL frees what it is given. */
static inline int netkit_SSL_staple_ocsp(SSL *ssl, const unsigned char *bytes, long count) {
    unsigned char *copy = OPENSSL_memdup(bytes, (size_t)count);
    if (copy == NULL) return 0;
    if (SSL_set_tlsext_status_ocsp_resp(ssl, copy, count) == 1) return 1;
    OPENSSL_free(copy);
    return 0;
}

static inline long netkit_BIO_get_mem_data(BIO *bio, char **bytes) {
    return BIO_get_mem_data(bio, bytes);
}

static inline void netkit_sk_X509_pop_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

static inline void netkit_sk_PKCS7_pop_free(STACK_OF(PKCS7) *stack) {
    sk_PKCS7_pop_free(stack, PKCS7_free);
}

static inline void netkit_sk_PKCS12_SAFEBAG_pop_free(STACK_OF(PKCS12_SAFEBAG) *stack) {
    sk_PKCS12_SAFEBAG_pop_free(stack, PKCS12_SAFEBAG_free);
}

#endif
