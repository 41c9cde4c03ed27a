// The part of the C bindings of GSSAPI (RFC 2744) that HTTPAuth calls, with two extensions of MIT Kerberos, and the few
// functions of its libkrb5 for the realm of a host. HTTPAuth loads the library at run time, so its headers are not needed to
// build, and the library is not needed to start. The names have a prefix, so that a program can use the library's own headers
// as well.
#pragma once
#include <stddef.h>
#include <stdint.h>

// headers.c declares these types by those of the library's headers, to compare the functions below with theirs.
#ifndef NETKIT_GSS_HAS_TYPES

// A status: the calling error in the top byte, the routine error below it, and supplementary bits (RFC 2744 section 3.9.1).
typedef uint32_t netkit_gss_status;

// Handles are opaque. A null pointer stands for the default, or for none.
typedef struct netkit_gss_name *netkit_gss_name;
typedef struct netkit_gss_credential *netkit_gss_credential;
typedef struct netkit_gss_context *netkit_gss_context;

// Bytes with a length (section 3.2).
typedef struct {
    size_t length;
    void *value;
} netkit_gss_buffer;

// An object identifier: the contents of its DER encoding (section 3.3).
typedef struct {
    uint32_t length;
    void *elements;
} netkit_gss_oid;

typedef struct {
    size_t count;
    netkit_gss_oid *elements;
} netkit_gss_oid_set;

// Channel bindings (section 3.11).
typedef struct {
    uint32_t initiator_address_type;
    netkit_gss_buffer initiator_address;
    uint32_t acceptor_address_type;
    netkit_gss_buffer acceptor_address;
    netkit_gss_buffer application_data;
} netkit_gss_channel_bindings;

// A credential store of MIT Kerberos: pairs such as `ccache` and the name of a cache.
typedef struct {
    const char *key;
    const char *value;
} netkit_gss_store_element;

typedef struct {
    uint32_t count;
    netkit_gss_store_element *elements;
} netkit_gss_store;

// A context of libkrb5.
typedef struct netkit_krb5_context *netkit_krb5_context;

#endif

// Object identifiers: the Kerberos mechanism (1.2.840.113554.1.2.2), the name type of a service on a host
// (1.2.840.113554.1.2.1.4) and the name type of a Kerberos principal (1.2.840.113554.1.2.2.1). The library only reads them.
netkit_gss_oid *netkit_gss_kerberos(void);
netkit_gss_oid *netkit_gss_host_based_service(void);
netkit_gss_oid *netkit_gss_kerberos_principal(void);

// The types of the functions, which are found by name at run time. The first argument receives the mechanism's status.

typedef netkit_gss_status (*netkit_gss_import_name)(
    uint32_t *minor, netkit_gss_buffer *text, netkit_gss_oid *type, netkit_gss_name *name);
typedef netkit_gss_status (*netkit_gss_release_name)(uint32_t *minor, netkit_gss_name *name);
typedef netkit_gss_status (*netkit_gss_release_buffer)(uint32_t *minor, netkit_gss_buffer *buffer);
typedef netkit_gss_status (*netkit_gss_release_cred)(uint32_t *minor, netkit_gss_credential *credential);
typedef netkit_gss_status (*netkit_gss_display_status)(
    uint32_t *minor, uint32_t status, int kind, netkit_gss_oid *mechanism, uint32_t *position, netkit_gss_buffer *text);
typedef netkit_gss_status (*netkit_gss_init_sec_context)(
    uint32_t *minor, netkit_gss_credential credential, netkit_gss_context *context, netkit_gss_name target,
    netkit_gss_oid *mechanism, uint32_t flags, uint32_t lifetime, netkit_gss_channel_bindings *bindings,
    netkit_gss_buffer *input, netkit_gss_oid **actual_mechanism, netkit_gss_buffer *output, uint32_t *granted_flags,
    uint32_t *granted_lifetime);
typedef netkit_gss_status (*netkit_gss_delete_sec_context)(
    uint32_t *minor, netkit_gss_context *context, netkit_gss_buffer *output);
typedef netkit_gss_status (*netkit_gss_get_mic)(
    uint32_t *minor, netkit_gss_context context, uint32_t protection, netkit_gss_buffer *message,
    netkit_gss_buffer *signature);
typedef netkit_gss_status (*netkit_gss_verify_mic)(
    uint32_t *minor, netkit_gss_context context, netkit_gss_buffer *message, netkit_gss_buffer *signature,
    uint32_t *protection);

// Extensions of MIT Kerberos: a credential from a credential store, and one from a password.
typedef netkit_gss_status (*netkit_gss_acquire_cred_from)(
    uint32_t *minor, netkit_gss_name name, uint32_t lifetime, netkit_gss_oid_set *mechanisms, int usage,
    const netkit_gss_store *store, netkit_gss_credential *credential, netkit_gss_oid_set **actual_mechanisms,
    uint32_t *granted_lifetime);
typedef netkit_gss_status (*netkit_gss_acquire_cred_with_password)(
    uint32_t *minor, netkit_gss_name name, netkit_gss_buffer *password, uint32_t lifetime, netkit_gss_oid_set *mechanisms,
    int usage, netkit_gss_credential *credential, netkit_gss_oid_set **actual_mechanisms, uint32_t *granted_lifetime);

// libkrb5: the realms that krb5.conf assigns to a host. The functions return 0 or an error number.
typedef int32_t (*netkit_krb5_init_context)(netkit_krb5_context *context);
typedef void (*netkit_krb5_free_context)(netkit_krb5_context context);
typedef int32_t (*netkit_krb5_get_host_realm)(netkit_krb5_context context, const char *host, char ***realms);
typedef int32_t (*netkit_krb5_free_host_realm)(netkit_krb5_context context, char *const *realms);
