#ifndef NETKIT_CGSSAPI_SHIMS_H
#define NETKIT_CGSSAPI_SHIMS_H

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>

/* Global variables of the library. They are constant, but Swift would import them as mutable. */

static inline gss_OID netkit_GSS_C_NT_HOSTBASED_SERVICE(void) {
    return GSS_C_NT_HOSTBASED_SERVICE;
}

static inline gss_OID netkit_GSS_KRB5_NT_PRINCIPAL_NAME(void) {
    return (gss_OID)GSS_KRB5_NT_PRINCIPAL_NAME;
}

static inline gss_OID netkit_gss_mech_krb5(void) {
    return (gss_OID)gss_mech_krb5;
}

/* Macros with casts or arguments, which Swift does not import. */

static inline OM_uint32 netkit_GSS_C_INDEFINITE(void) {
    return GSS_C_INDEFINITE;
}

static inline OM_uint32 netkit_GSS_ERROR(OM_uint32 status) {
    return GSS_ERROR(status);
}

static inline OM_uint32 netkit_GSS_ROUTINE_ERROR(OM_uint32 status) {
    return GSS_ROUTINE_ERROR(status);
}

static const OM_uint32 netkit_GSS_S_CONTINUE_NEEDED = GSS_S_CONTINUE_NEEDED;
static const OM_uint32 netkit_GSS_S_NO_CRED = GSS_S_NO_CRED;
static const OM_uint32 netkit_GSS_S_CREDENTIALS_EXPIRED = GSS_S_CREDENTIALS_EXPIRED;
static const OM_uint32 netkit_GSS_S_UNAVAILABLE = GSS_S_UNAVAILABLE;
static const OM_uint32 netkit_GSS_S_BAD_BINDINGS = GSS_S_BAD_BINDINGS;
static const OM_uint32 netkit_GSS_S_DEFECTIVE_TOKEN = GSS_S_DEFECTIVE_TOKEN;

#endif
