// Compares CGSSAPI.h with the headers of MIT Kerberos, where they are installed: the functions, and the layout of the structures, whose
// sizes shim.c states.

#if __has_include(<gssapi/gssapi_ext.h>) && __has_include(<krb5.h>)

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <krb5.h>
#include <stddef.h>

#define NETKIT_GSS_HAS_TYPES
typedef OM_uint32 netkit_gss_status;
typedef gss_name_t netkit_gss_name;
typedef gss_cred_id_t netkit_gss_credential;
typedef gss_ctx_id_t netkit_gss_context;
typedef gss_buffer_desc netkit_gss_buffer;
typedef gss_OID_desc netkit_gss_oid;
typedef gss_OID_set_desc netkit_gss_oid_set;
typedef struct gss_channel_bindings_struct netkit_gss_channel_bindings;
typedef gss_key_value_element_desc netkit_gss_store_element;
typedef gss_key_value_set_desc netkit_gss_store;
typedef krb5_context netkit_krb5_context;
#include "CGSSAPI.h"

#define AGREES(type, function) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(*(type)0), __typeof__(function)), #function)
AGREES(netkit_gss_import_name, gss_import_name);
AGREES(netkit_gss_release_name, gss_release_name);
AGREES(netkit_gss_release_buffer, gss_release_buffer);
AGREES(netkit_gss_release_cred, gss_release_cred);
AGREES(netkit_gss_display_status, gss_display_status);
AGREES(netkit_gss_init_sec_context, gss_init_sec_context);
AGREES(netkit_gss_delete_sec_context, gss_delete_sec_context);
AGREES(netkit_gss_get_mic, gss_get_mic);
AGREES(netkit_gss_verify_mic, gss_verify_mic);
AGREES(netkit_gss_acquire_cred_from, gss_acquire_cred_from);
AGREES(netkit_gss_acquire_cred_with_password, gss_acquire_cred_with_password);
AGREES(netkit_krb5_init_context, krb5_init_context);
AGREES(netkit_krb5_free_context, krb5_free_context);
AGREES(netkit_krb5_get_host_realm, krb5_get_host_realm);
AGREES(netkit_krb5_free_host_realm, krb5_free_host_realm);

#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(gss_buffer_desc) == 16 && offsetof(gss_buffer_desc, value) == 8, "gss_buffer_desc");
_Static_assert(sizeof(gss_OID_desc) == 16 && offsetof(gss_OID_desc, elements) == 8, "gss_OID_desc");
_Static_assert(sizeof(gss_OID_set_desc) == 16 && offsetof(gss_OID_set_desc, elements) == 8, "gss_OID_set_desc");
_Static_assert(sizeof(struct gss_channel_bindings_struct) == 64, "gss_channel_bindings_struct");
_Static_assert(offsetof(struct gss_channel_bindings_struct, initiator_address) == 8, "gss_channel_bindings_struct");
_Static_assert(offsetof(struct gss_channel_bindings_struct, acceptor_address) == 32, "gss_channel_bindings_struct");
_Static_assert(offsetof(struct gss_channel_bindings_struct, application_data) == 48, "gss_channel_bindings_struct");
_Static_assert(sizeof(gss_key_value_element_desc) == 16, "gss_key_value_element_desc");
_Static_assert(sizeof(gss_key_value_set_desc) == 16, "gss_key_value_set_desc");
#endif

#endif
