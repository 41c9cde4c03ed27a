#include "CFNetworkPrograms.h"
#include "Check.h"
#include <CFNetwork/CFNetwork.h>
#include <Security/Security.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/// Makes a root, an authority below it, and certificates of that authority for a server and a client, in a new folder that is the current one.
static int makeCertificates(void) {
    static char folder[] = "/tmp/cfnetwork-certificates-XXXXXX";
    const char *commands =
        "new() { name=$1 issuer=$2; shift 2; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.pem -days 30 "
        "${issuer:+-CA $issuer.pem -CAkey $issuer.key} \"$@\" && openssl x509 -in $name.pem -outform der -out $name.der; }\n"
        "exec 2>log\n"
        "new root '' -subj '/O=Example/CN=Root' -addext basicConstraints=critical,CA:TRUE &&\n"
        "new authority root -subj '/OU=Authority/O=Example' -addext basicConstraints=critical,CA:TRUE &&\n"
        "new server authority -utf8 -subj '/CN=first/CN=sérver' -addext subjectAltName=DNS:www.example.org,IP:127.0.0.1 -addext extendedKeyUsage=serverAuth "
        "-addext basicConstraints=CA:FALSE &&\n"
        "new client authority -subj / -addext subjectAltName=email:joe@example.org,DNS:client.example.org -addext extendedKeyUsage=clientAuth -addext basicConstraints=CA:FALSE &&\n"
        "new other '' -subj '/CN=other' -addext subjectAltName=DNS:www.example.org &&\n"
        "for name in server client; do openssl pkcs12 -export -inkey $name.key -in $name.pem -certfile authority.pem -out $name.p12 -passout pass:sesame; done &&\n"
        "openssl pkcs12 -export -nokeys -in server.pem -out nokey.p12 -passout pass:sesame";
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? system(commands) : -1;
}

static int removeCertificates(void) { return system("rm -r \"$PWD\""); }

static CFDataRef copyFile(const char *path) {
    static UInt8 bytes[65536];
    FILE *file = fopen(path, "r");
    size_t count = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file != NULL) fclose(file);
    return CFDataCreate(NULL, bytes, (CFIndex)count);
}

static SecCertificateRef certificate(const char *path) {
    CFDataRef data = copyFile(path);
    SecCertificateRef result = SecCertificateCreateWithData(NULL, data);
    CFRelease(data);
    return result;
}

static Boolean equals(CFTypeRef object, CFTypeRef wanted) {
    Boolean isEqual = object != NULL && CFEqual(object, wanted);
    if (object != NULL) CFRelease(object);
    return isEqual;
}

/// Objects that are neither certificates nor the like.
static const void *strangers(int index) { return index == 0 ? NULL : index == 1 ? (const void *)CFSTR("x") : (const void *)kCFBooleanTrue; }

const char *CFNetworkCertificatesProgram(void) {
    CHECK(makeCertificates() == 0);
    CFDataRef data = copyFile("server.der"), text = copyFile("server.pem");
    CFMutableDataRef more = CFDataCreateMutableCopy(NULL, 0, data);
    CFDataAppendBytes(more, (const UInt8 *)"x", 1);
    CHECK(SecCertificateCreateWithData(NULL, NULL) == NULL && SecCertificateCreateWithData(NULL, (CFDataRef)CFSTR("x")) == NULL);
    CHECK(SecCertificateCreateWithData(NULL, text) == NULL && SecCertificateCreateWithData(NULL, more) == NULL);
    for (CFIndex count = 0; count < CFDataGetLength(data); count += 7) {
        CFDataRef part = CFDataCreate(NULL, CFDataGetBytePtr(data), count);
        CHECK(SecCertificateCreateWithData(NULL, part) == NULL);
        CFRelease(part);
    }
    SecCertificateRef server = SecCertificateCreateWithData(NULL, data), same = certificate("server.der"), authority = certificate("authority.der"),
                      client = certificate("client.der"), root = certificate("root.der");
    CHECK(CFGetTypeID(server) == SecCertificateGetTypeID() && equals(SecCertificateCopyData(server), data));
    CHECK(server != same && CFEqual(server, same) && CFHash(server) == CFHash(same) && !CFEqual(server, client) && !CFEqual(server, data));
    CFStringRef accented = CFStringCreateWithCString(NULL, "sérver", kCFStringEncodingUTF8), name = NULL;
    CHECK(equals(SecCertificateCopySubjectSummary(server), accented));
    CHECK(equals(SecCertificateCopySubjectSummary(root), CFSTR("Root")) && equals(SecCertificateCopySubjectSummary(authority), CFSTR("Authority")));
    CHECK(equals(SecCertificateCopySubjectSummary(client), CFSTR("joe@example.org")));
    CHECK(SecCertificateCopyCommonName(server, &name) == noErr && equals(name, accented));
    CHECK(SecCertificateCopyCommonName(client, &name) == noErr && name == NULL);
    CHECK(SecCertificateCopyCommonName(client, NULL) == errSecParam);
    for (int i = 0; i < 3; i++) {
        SecCertificateRef stranger = (SecCertificateRef)strangers(i);
        CHECK(SecCertificateCopyData(stranger) == NULL && SecCertificateCopySubjectSummary(stranger) == NULL);
        CHECK(SecCertificateCopyCommonName(stranger, &name) == errSecParam);
    }
    CFStringRef description = CFCopyDescription(server);
    CHECK(CFStringFind(description, CFSTR("SecCertificate"), 0).location != kCFNotFound);

    // Policies.
    SecPolicyRef policies[] = {SecPolicyCreateSSL(TRUE, CFSTR("www.example.org")), SecPolicyCreateSSL(TRUE, NULL), SecPolicyCreateSSL(FALSE, NULL),
        SecPolicyCreateBasicX509(), SecPolicyCreateSSL(FALSE, CFSTR("www.example.org")), SecPolicyCreateSSL(TRUE, CFSTR("a b")), SecPolicyCreateBasicX509()};
    for (int i = 0; i < 7; i++) {
        CHECK(policies[i] != NULL && CFGetTypeID(policies[i]) == SecPolicyGetTypeID());
        for (int j = 0; j < 6; j++) CHECK(CFEqual(policies[i], policies[j]) == (i == j || (i == 6 && j == 3)));
    }
    CHECK(SecPolicyCreateSSL(TRUE, (CFStringRef)kCFBooleanTrue) == NULL);
    const CFTypeRef all[] = {data, text, more, server, same, authority, client, root, accented, description, policies[0], policies[1], policies[2], policies[3],
        policies[4], policies[5], policies[6]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    CHECK(removeCertificates() == 0);
    return NULL;
}

/// The code of the evaluation's error, 0 for trust; 1 if functions contradict each other.
static CFIndex evaluate(SecTrustRef trust, SecTrustResultType wanted) {
    CFErrorRef error = NULL;
    bool isTrusted = SecTrustEvaluateWithError(trust, &error);
    SecTrustResultType result = kSecTrustResultInvalid;
    if (SecTrustGetTrustResult(trust, &result) != noErr || result != wanted || isTrusted != (error == NULL)) return 1;
    if (isTrusted != SecTrustEvaluateWithError(trust, NULL)) return 1;
    if (error == NULL) return 0;
    CFIndex code = CFErrorGetCode(error);
    CFStringRef text = CFErrorCopyDescription(error);
    Boolean isRight = CFEqual(CFErrorGetDomain(error), kCFErrorDomainOSStatus) && CFStringGetLength(text) > 20;
    CFRelease(text);
    CFRelease(error);
    return isRight ? code : 1;
}

const char *CFNetworkTrustProgram(void) {
    CHECK(makeCertificates() == 0);
    setenv("SSL_CERT_FILE", "/nonexistent", 1);
    setenv("SSL_CERT_DIR", "/nonexistent", 1);
    SecCertificateRef root = certificate("root.der"), authority = certificate("authority.der"), server = certificate("server.der"),
                      client = certificate("client.der"), other = certificate("other.der");
    const void *parts[] = {server, root, authority};
    CFArrayRef chain = CFArrayCreate(NULL, parts, 3, &kCFTypeArrayCallBacks), roots = CFArrayCreate(NULL, parts + 1, 1, &kCFTypeArrayCallBacks),
               none = CFArrayCreate(NULL, NULL, 0, &kCFTypeArrayCallBacks);
    SecPolicyRef ssl = SecPolicyCreateSSL(TRUE, CFSTR("WWW.example.org")), wrong = SecPolicyCreateSSL(TRUE, CFSTR("example.org")),
                 address = SecPolicyCreateSSL(TRUE, CFSTR("127.0.0.1")), clients = SecPolicyCreateSSL(FALSE, NULL);
    SecTrustRef trust = NULL;
    CHECK(SecTrustCreateWithCertificates(chain, ssl, &trust) == noErr && CFGetTypeID(trust) == SecTrustGetTypeID());
    SecTrustResultType result = kSecTrustResultProceed;
    CHECK(SecTrustGetTrustResult(trust, &result) == noErr && result == kSecTrustResultInvalid);
    CHECK(evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecNotTrusted);
    CFArrayRef found = SecTrustCopyCertificateChain(trust);
    CHECK(CFArrayGetCount(found) == 3 && CFEqual(CFArrayGetValueAtIndex(found, 1), root)); // as it was given
    CFRelease(found);

    // With anchors, in the order of the chain.
    CHECK(SecTrustSetAnchorCertificates(trust, roots) == noErr && SecTrustGetTrustResult(trust, &result) == noErr && result == kSecTrustResultInvalid);
    found = SecTrustCopyCertificateChain(trust);
    CHECK(CFArrayGetCount(found) == 3 && CFEqual(CFArrayGetValueAtIndex(found, 0), server) && CFEqual(CFArrayGetValueAtIndex(found, 1), authority) &&
          CFEqual(CFArrayGetValueAtIndex(found, 2), root));
    CFRelease(found);
    CHECK(evaluate(trust, kSecTrustResultUnspecified) == 0);
    CHECK(SecTrustSetAnchorCertificatesOnly(trust, FALSE) == noErr && evaluate(trust, kSecTrustResultUnspecified) == 0);
    CHECK(SecTrustSetAnchorCertificates(trust, none) == noErr && evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecNotTrusted);
    // Each call of SecTrustSetAnchorCertificates decides again on this machine's roots.
    setenv("SSL_CERT_FILE", "root.pem", 1);
    CHECK(SecTrustSetAnchorCertificatesOnly(trust, FALSE) == noErr && evaluate(trust, kSecTrustResultUnspecified) == 0);
    CHECK(SecTrustSetAnchorCertificates(trust, none) == noErr && evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecNotTrusted);
    CHECK(SecTrustSetAnchorCertificates(trust, NULL) == noErr && evaluate(trust, kSecTrustResultUnspecified) == 0);
    CHECK(SecTrustSetAnchorCertificatesOnly(trust, TRUE) == noErr && evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecNotTrusted);
    CHECK(SecTrustSetAnchorCertificates(trust, NULL) == noErr && evaluate(trust, kSecTrustResultUnspecified) == 0);
    setenv("SSL_CERT_FILE", "/nonexistent", 1);
    CHECK(SecTrustSetAnchorCertificates(trust, NULL) == noErr && evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecNotTrusted);
    CHECK(SecTrustSetAnchorCertificates(trust, roots) == noErr && evaluate(trust, kSecTrustResultUnspecified) == 0);

    // Roots that cannot be read, because the process has no descriptor left.
    struct rlimit limit, noDescriptors = {0};
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    noDescriptors.rlim_max = limit.rlim_max;
    setenv("SSL_CERT_FILE", "server.pem", 1);
    CHECK(SecTrustSetAnchorCertificates(trust, NULL) == noErr && setrlimit(RLIMIT_NOFILE, &noDescriptors) == 0);
    CHECK(evaluate(trust, kSecTrustResultOtherError) == errSecInternalComponent && setrlimit(RLIMIT_NOFILE, &limit) == 0);
    setenv("SSL_CERT_FILE", "/nonexistent", 1);
    CHECK(SecTrustSetAnchorCertificates(trust, roots) == noErr && evaluate(trust, kSecTrustResultUnspecified) == 0);

    // The time.
    CFDateRef late = CFDateCreate(NULL, CFAbsoluteTimeGetCurrent() + 40 * 86400), early = CFDateCreate(NULL, CFAbsoluteTimeGetCurrent() - 86400);
    CHECK(SecTrustSetVerifyDate(trust, late) == noErr && evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecCertificateExpired);
    CHECK(SecTrustSetVerifyDate(trust, early) == noErr && evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecCertificateNotValidYet);
    CHECK(SecTrustSetVerifyDate(trust, NULL) == noErr && evaluate(trust, kSecTrustResultUnspecified) == 0);
    CHECK(SecTrustSetVerifyDate(trust, (CFDateRef)CFSTR("x")) == errSecParam);
    CFRelease(trust);

    // Names and purposes. All policies of an array count.
    const void *both[] = {ssl, wrong}, *good[] = {ssl, address};
    CFArrayRef one = CFArrayCreate(NULL, both, 2, &kCFTypeArrayCallBacks), two = CFArrayCreate(NULL, good, 2, &kCFTypeArrayCallBacks);
    const struct { CFTypeRef policy; SecTrustResultType result; OSStatus status; } rows[] = {
        {wrong, kSecTrustResultRecoverableTrustFailure, errSecHostNameMismatch}, {address, kSecTrustResultUnspecified, 0}, {NULL, kSecTrustResultUnspecified, 0},
        {clients, kSecTrustResultFatalTrustFailure, errSecCreateChainFailed}, {one, kSecTrustResultRecoverableTrustFailure, errSecHostNameMismatch},
        {two, kSecTrustResultUnspecified, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK(SecTrustCreateWithCertificates(chain, rows[i].policy, &trust) == noErr && SecTrustSetAnchorCertificates(trust, roots) == noErr);
        CHECK(evaluate(trust, rows[i].result) == rows[i].status);
        CFRelease(trust);
    }
    // Texts that are no names of hosts. No certificate is for them.
    const UniChar letters[] = {'w', 'w', 'w', '.', 'e', 'x', 'a', 'm', 'p', 'l', 'e', '.', 'o', 'r', 'g', 0, 'x', '.', 'o', 'r', 'g'};
    CFStringRef noNames[] = {CFSTR(""), CFSTR("a b"), CFSTR("www..example.org"), CFSTR(" www.example.org"), CFSTR("*.example.org"),
        CFSTR("www.example.org:443"), CFSTR("https://www.example.org"), CFStringCreateWithCharacters(NULL, letters, 21)};
    for (int i = 0; i < 16; i++) {
        SecPolicyRef policy = SecPolicyCreateSSL(i < 8, noNames[i % 8]);
        parts[0] = i < 8 ? server : client;
        CFArrayRef presented = CFArrayCreate(NULL, parts, 3, &kCFTypeArrayCallBacks);
        CHECK(policy != NULL && SecTrustCreateWithCertificates(presented, policy, &trust) == noErr && SecTrustSetAnchorCertificates(trust, roots) == noErr);
        CHECK(evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecHostNameMismatch);
        CFRelease(trust);
        CFRelease(presented);
        CFRelease(policy);
    }
    CFRelease(noNames[7]);
    // A client's name is verified if the policy has one.
    parts[0] = client;
    CFArrayRef named = CFArrayCreate(NULL, parts, 3, &kCFTypeArrayCallBacks);
    for (int i = 0; i < 2; i++) {
        SecPolicyRef policy = SecPolicyCreateSSL(FALSE, i == 0 ? CFSTR("client.example.org") : CFSTR("www.example.org"));
        CHECK(SecTrustCreateWithCertificates(named, policy, &trust) == noErr && SecTrustSetAnchorCertificates(trust, roots) == noErr);
        CHECK(evaluate(trust, i == 0 ? kSecTrustResultUnspecified : kSecTrustResultRecoverableTrustFailure) == (i == 0 ? 0 : errSecHostNameMismatch));
        CFRelease(trust);
        CFRelease(policy);
    }
    CFRelease(named);
    CFArrayRef clientChain = CFArrayCreate(NULL, parts, 3, &kCFTypeArrayCallBacks);
    for (int i = 0; i < 2; i++) {
        CHECK(SecTrustCreateWithCertificates(clientChain, i == 0 ? clients : ssl, &trust) == noErr && SecTrustSetAnchorCertificates(trust, roots) == noErr);
        CHECK(i == 0 ? evaluate(trust, kSecTrustResultUnspecified) == 0 : !SecTrustEvaluateWithError(trust, NULL));
        CFRelease(trust);
    }
    // Without the authority between, and a self-signed certificate.
    CHECK(SecTrustCreateWithCertificates(server, ssl, &trust) == noErr && SecTrustSetAnchorCertificates(trust, roots) == noErr);
    CHECK(evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecNotTrusted);
    CFRelease(trust);
    CHECK(SecTrustCreateWithCertificates(other, ssl, &trust) == noErr && evaluate(trust, kSecTrustResultRecoverableTrustFailure) == errSecNotTrusted);
    CFRelease(trust);

    // Arguments that are wrong.
    for (int i = 0; i < 3; i++) {
        SecTrustRef stranger = (SecTrustRef)strangers(i);
        CFErrorRef error = NULL;
        CHECK(SecTrustCreateWithCertificates(strangers(i), ssl, &trust) == errSecParam);
        CHECK(i == 0 || SecTrustCreateWithCertificates(server, strangers(i), &trust) == errSecParam);
        CHECK(!SecTrustEvaluateWithError(stranger, &error) && CFErrorGetCode(error) == errSecParam && SecTrustGetTrustResult(stranger, &result) == errSecParam);
        CHECK(SecTrustSetAnchorCertificates(stranger, roots) == errSecParam && SecTrustSetAnchorCertificatesOnly(stranger, TRUE) == errSecParam);
        CHECK(SecTrustCopyCertificateChain(stranger) == NULL && SecTrustSetVerifyDate(stranger, late) == errSecParam);
        CFRelease(error);
    }
    CHECK(SecTrustCreateWithCertificates(none, ssl, &trust) == errSecParam && SecTrustCreateWithCertificates(two, ssl, &trust) == errSecParam);
    CHECK(SecTrustCreateWithCertificates(server, ssl, NULL) == errSecParam && SecTrustCreateWithCertificates(server, chain, &trust) == errSecParam);
    const CFTypeRef all[] = {root, authority, server, client, other, chain, roots, none, ssl, wrong, address, clients, late, early, one, two, clientChain};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    CHECK(removeCertificates() == 0);
    return NULL;
}

/// What an evaluation says: whether the certificate is trusted, the code of the error and the result.
struct Verdict {
    bool isTrusted;
    CFIndex code;
    SecTrustResultType result;
};

/// Evaluates a certificate with those that may belong to its chain.
static struct Verdict judge(CFArrayRef chain, CFTypeRef policies, CFArrayRef roots, CFDateRef date) {
    SecTrustRef trust = NULL;
    CFErrorRef error = NULL;
    struct Verdict verdict = {.code = 1};
    if (SecTrustCreateWithCertificates(chain, policies, &trust) != noErr || SecTrustSetAnchorCertificates(trust, roots) != noErr ||
        SecTrustSetVerifyDate(trust, date) != noErr)
        return verdict;
    verdict.isTrusted = SecTrustEvaluateWithError(trust, &error);
    verdict.code = error == NULL ? 0 : CFErrorGetCode(error);
    SecTrustGetTrustResult(trust, &verdict.result);
    if (error != NULL) CFRelease(error);
    CFRelease(trust);
    return verdict;
}

static Boolean areSame(struct Verdict one, struct Verdict other) {
    return one.isTrusted == other.isTrusted && one.code == other.code && one.result == other.result;
}

const char *CFNetworkPoliciesProgram(void) {
    static char failure[256];
    CHECK(makeCertificates() == 0);
    // An authority for servers only, below which a certificate for both purposes is none for clients.
    CHECK(system("exec 2>>log\n"
                 "new() { name=$1 issuer=$2; shift 2; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.pem "
                 "-days 30 -CA $issuer.pem -CAkey $issuer.key -subj /CN=$name \"$@\" && openssl x509 -in $name.pem -outform der -out $name.der; }\n"
                 "new servers root -addext basicConstraints=critical,CA:TRUE -addext extendedKeyUsage=serverAuth &&\n"
                 "new both servers -addext subjectAltName=DNS:www.example.org,DNS:client.example.org -addext extendedKeyUsage=serverAuth,clientAuth "
                 "-addext basicConstraints=CA:FALSE &&\n"
                 "cat authority.pem servers.pem >between.pem") == 0);
    setenv("SSL_CERT_FILE", "/nonexistent", 1);
    setenv("SSL_CERT_DIR", "/nonexistent", 1);
    enum { policyCount = 7, certificateCount = 6, timeCount = 3 };
    const struct { SecPolicyRef policy; const char *options; } policies[policyCount] = {
        {SecPolicyCreateBasicX509(), ""},
        {SecPolicyCreateSSL(TRUE, NULL), "-purpose sslserver"},
        {SecPolicyCreateSSL(TRUE, CFSTR("www.example.org")), "-purpose sslserver -verify_hostname www.example.org"},
        {SecPolicyCreateSSL(TRUE, CFSTR("example.org")), "-purpose sslserver -verify_hostname example.org"},
        {SecPolicyCreateSSL(TRUE, CFSTR("127.0.0.1")), "-purpose sslserver -verify_ip 127.0.0.1"},
        {SecPolicyCreateSSL(FALSE, NULL), "-purpose sslclient"},
        {SecPolicyCreateSSL(FALSE, CFSTR("client.example.org")), "-purpose sslclient -verify_hostname client.example.org"}};
    const char *names[certificateCount] = {"server", "client", "both", "other", "authority", "root"};
    const long days[timeCount] = {0, 40, -1};
    SecCertificateRef root = certificate("root.der"), authority = certificate("authority.der"), servers = certificate("servers.der");
    const void *anchor = root;
    CFArrayRef roots = CFArrayCreate(NULL, &anchor, 1, &kCFTypeArrayCallBacks), none = CFArrayCreate(NULL, NULL, 0, &kCFTypeArrayCallBacks);
    const CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    int trusted = 0;
    for (int index = 0; index < certificateCount * timeCount; index++) {
        const char *name = names[index % certificateCount];
        char path[64], command[512];
        snprintf(path, sizeof path, "%s.der", name);
        SecCertificateRef own = certificate(path);
        const void *parts[] = {own, authority, servers};
        CFArrayRef chain = CFArrayCreate(NULL, parts, 3, &kCFTypeArrayCallBacks);
        CFDateRef date = CFDateCreate(NULL, now + (double)days[index / certificateCount] * 86400);
        // One policy: the verdict is OpenSSL's.
        struct Verdict verdicts[policyCount];
        for (int i = 0; i < policyCount; i++) {
            snprintf(command, sizeof command, "openssl verify -no-CApath -no-CAstore -CAfile root.pem -untrusted between.pem -attime %.0f %s %s.pem >>log 2>&1",
                CFDateGetAbsoluteTime(date) + kCFAbsoluteTimeIntervalSince1970, policies[i].options, name);
            verdicts[i] = judge(chain, policies[i].policy, roots, date);
            snprintf(failure, sizeof failure, "%s after %ld days, %s: trusted %d, result %u, code %ld, unlike OpenSSL", name, days[index / certificateCount],
                policies[i].options, verdicts[i].isTrusted, (unsigned)verdicts[i].result, (long)verdicts[i].code);
            if (verdicts[i].isTrusted != (system(command) == 0)) return failure;
            if (verdicts[i].isTrusted != (verdicts[i].result == kSecTrustResultUnspecified)) return failure;
            trusted += verdicts[i].isTrusted;
        }
        CHECK(areSame(judge(chain, NULL, roots, date), verdicts[0]) && areSame(judge(chain, none, roots, date), verdicts[0]));
        // Two and three: both must be met. The gravest failure counts, and the first of those.
        for (int i = 0; i < policyCount * policyCount; i++) {
            int first = i / policyCount, second = i % policyCount;
            const void *wanted[] = {policies[first].policy, policies[second].policy, policies[first].policy};
            struct Verdict expected = verdicts[second].result > verdicts[first].result ? verdicts[second] : verdicts[first];
            for (CFIndex count = 2; count <= 3; count++) {
                CFArrayRef several = CFArrayCreate(NULL, wanted, count, &kCFTypeArrayCallBacks);
                struct Verdict found = judge(chain, several, roots, date);
                snprintf(failure, sizeof failure, "%s after %ld days, %s and %s: trusted %d, result %u, code %ld", name, days[index / certificateCount],
                    policies[first].options, policies[second].options, found.isTrusted, (unsigned)found.result, (long)found.code);
                CFRelease(several);
                if (!areSame(found, expected)) return failure;
            }
        }
        CFRelease(date);
        CFRelease(chain);
        CFRelease(own);
    }
    // Now: four policies accept server, three client, three both, three authority and three root. None does before or after.
    CHECK(trusted == 16);
    for (int i = 0; i < policyCount; i++) CFRelease(policies[i].policy);
    const CFTypeRef all[] = {root, authority, servers, roots, none};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    CHECK(removeCertificates() == 0);
    return NULL;
}

static OSStatus import(const char *path, CFStringRef passphrase, CFArrayRef *items) {
    CFDataRef data = copyFile(path);
    const void *key = kSecImportExportPassphrase, *value = passphrase;
    CFDictionaryRef options = CFDictionaryCreate(NULL, &key, &value, passphrase != NULL, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    OSStatus status = SecPKCS12Import(data, options, items);
    CFRelease(options);
    CFRelease(data);
    return status;
}

/// Connects a server with an identity and a client. Returns the client's reading stream, and the number of its error.
static CFReadStreamRef connectPair(CFTypeRef identity, SecCertificateRef authority, CFStringRef name, Boolean verifies, CFIndex *error) {
    int pair[2];
    CFReadStreamRef readers[2];
    CFWriteStreamRef writers[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return NULL;
    const void *parts[] = {identity, authority};
    CFArrayRef certificates = CFArrayCreate(NULL, parts, authority != NULL ? 2 : 1, &kCFTypeArrayCallBacks);
    const void *keys[] = {kCFStreamSSLIsServer, kCFStreamSSLCertificates, kCFStreamSSLPeerName, kCFStreamSSLValidatesCertificateChain};
    const void *values[] = {kCFBooleanTrue, certificates, name, verifies ? kCFBooleanTrue : kCFBooleanFalse};
    for (int i = 0; i < 2; i++) {
        CFDictionaryRef settings = CFDictionaryCreate(NULL, keys + 2 * i, values + 2 * i, 2, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
        CFStreamCreatePairWithSocket(NULL, pair[i], &readers[i], &writers[i]);
        CFReadStreamSetProperty(readers[i], kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue);
        // Through each of the two streams, as programs do.
        Boolean isSet = CFReadStreamSetProperty(readers[i], kCFStreamPropertySSLSettings, settings) &&
                        CFWriteStreamSetProperty(writers[i], kCFStreamPropertySSLSettings, settings);
        CFDictionaryRef copy = CFReadStreamCopyProperty(readers[i], kCFStreamPropertySSLSettings);
        if (!isSet || copy == NULL || !CFEqual(copy, settings)) return NULL;
        CFRelease(copy);
        CFRelease(settings);
        CFReadStreamOpen(readers[i]);
        CFWriteStreamOpen(writers[i]);
    }
    CFRelease(certificates);
    UInt8 bytes[8];
    CFIndex count = CFWriteStreamWrite(writers[1], (const UInt8 *)"secret", 6);
    if (count == 6) count = CFReadStreamRead(readers[0], bytes, sizeof bytes);
    *error = count == 6 ? 0 : CFWriteStreamGetError(writers[1]).error;
    for (int i = 0; i < 2; i++) {
        if (i == 0) CFReadStreamClose(readers[i]);
        CFWriteStreamClose(writers[i]);
        CFRelease(writers[i]);
    }
    CFRelease(readers[0]);
    return readers[1];
}

const char *CFNetworkIdentityProgram(void) {
    CHECK(makeCertificates() == 0);
    setenv("SSL_CERT_FILE", "root.pem", 1);
    setenv("SSL_CERT_DIR", "/nonexistent", 1);
    CFArrayRef items = NULL;
    CHECK(import("server.p12", NULL, &items) == errSecPassphraseRequired && import("server.p12", CFSTR("x"), &items) == errSecAuthFailed);
    CHECK(import("server.pem", CFSTR("sesame"), &items) == errSecDecode && import("nokey.p12", CFSTR("sesame"), &items) == errSecDecode);
    CHECK(import("server.p12", CFSTR("sesame"), NULL) == errSecParam && import("server.p12", (CFStringRef)kCFBooleanTrue, &items) == errSecParam);
    CHECK(SecPKCS12Import(NULL, NULL, &items) == errSecParam && SecPKCS12Import((CFDataRef)CFSTR("x"), NULL, &items) == errSecParam && items == NULL);
    CHECK(import("server.p12", CFSTR("sesame"), &items) == noErr && CFArrayGetCount(items) == 1);
    CFDictionaryRef item = CFArrayGetValueAtIndex(items, 0);
    SecIdentityRef identity = (SecIdentityRef)CFDictionaryGetValue(item, kSecImportItemIdentity);
    CFArrayRef chain = CFDictionaryGetValue(item, kSecImportItemCertChain);
    SecTrustRef trust = (SecTrustRef)CFDictionaryGetValue(item, kSecImportItemTrust);
    SecCertificateRef own = NULL, server = certificate("server.der"), authority = certificate("authority.der");
    CHECK(CFDictionaryGetCount(item) == 3 && CFGetTypeID(identity) == SecIdentityGetTypeID());
    CHECK(SecIdentityCopyCertificate(identity, &own) == noErr && CFEqual(own, server));
    CHECK(CFArrayGetCount(chain) == 2 && CFEqual(CFArrayGetValueAtIndex(chain, 0), own) && CFEqual(CFArrayGetValueAtIndex(chain, 1), authority));
    CHECK(SecTrustEvaluateWithError(trust, NULL));
    for (int i = 0; i < 3; i++) CHECK(SecIdentityCopyCertificate((SecIdentityRef)strangers(i), &own) == errSecParam);
    CHECK(SecIdentityCopyCertificate(identity, NULL) == errSecParam);
    CFArrayRef again = NULL;
    CHECK(import("server.p12", CFSTR("sesame"), &again) == noErr);
    CHECK(CFEqual(identity, CFDictionaryGetValue(CFArrayGetValueAtIndex(again, 0), kSecImportItemIdentity)) && !CFEqual(identity, own));
    CFStringRef description = CFCopyDescription(items);
    CFRelease(description);

    // Streams: the verdict of the stream is that of the trust object.
    const struct { CFStringRef name; CFIndex stream; OSStatus trust; } rows[] = {
        {CFSTR("www.example.org"), 0, 0}, {CFSTR("127.0.0.1"), 0, 0}, {CFSTR("example.org"), 1, errSecHostNameMismatch}};
    for (int i = 0; i < 3; i++) {
        CFIndex error = 1;
        CFReadStreamRef stream = connectPair(identity, i == 1 ? authority : NULL, rows[i].name, TRUE, &error);
        CHECK(stream != NULL && (rows[i].stream == 0 ? error == 0 : error != 0));
        CFReadStreamClose(stream);
        CFRelease(stream);
        stream = connectPair(identity, NULL, rows[i].name, FALSE, &error);
        CHECK(stream != NULL && error == 0);
        CFArrayRef peers = CFReadStreamCopyProperty(stream, kCFStreamPropertySSLPeerCertificates);
        CHECK(peers != NULL && CFArrayGetCount(peers) == 2 && CFEqual(CFArrayGetValueAtIndex(peers, 0), server));
        SecTrustRef peer = (SecTrustRef)CFReadStreamCopyProperty(stream, kCFStreamPropertySSLPeerTrust);
        CHECK(peer != NULL && CFGetTypeID(peer) == SecTrustGetTypeID());
        CHECK(evaluate(peer, rows[i].trust == 0 ? kSecTrustResultUnspecified : kSecTrustResultRecoverableTrustFailure) == rows[i].trust);
        CHECK(!CFReadStreamSetProperty(stream, kCFStreamPropertySSLPeerTrust, peer));
        CFReadStreamClose(stream);
        CFRelease(stream);
        CFRelease(peer);
        CFRelease(peers);
    }
    // A certificate alone is no identity.
    CFIndex error = 1;
    CHECK(connectPair(server, NULL, CFSTR("www.example.org"), TRUE, &error) == NULL);
    CHECK(connectPair(identity, (SecCertificateRef)identity, CFSTR("www.example.org"), TRUE, &error) == NULL);
    const CFTypeRef all[] = {items, again, own, server, authority};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    CHECK(removeCertificates() == 0);
    return NULL;
}

static SecTrustRef sharedTrust;
static CFArrayRef sharedRoots;
static Boolean trustHasFailed;

static void *evaluateOften(void *argument) {
    for (int i = 0; i < 50; i++) {
        // One thread changes the anchors, which all others see or not.
        if (argument == NULL && SecTrustSetAnchorCertificates(sharedTrust, i % 2 ? NULL : sharedRoots) != noErr) trustHasFailed = TRUE;
        CFErrorRef error = NULL;
        if (!SecTrustEvaluateWithError(sharedTrust, &error)) CFRelease(error);
        SecTrustResultType result = kSecTrustResultDeny;
        if (SecTrustGetTrustResult(sharedTrust, &result) != noErr || result == kSecTrustResultDeny) trustHasFailed = TRUE;
        CFArrayRef chain = SecTrustCopyCertificateChain(sharedTrust);
        if (CFArrayGetCount(chain) < 1) trustHasFailed = TRUE;
        CFRelease(chain);
    }
    return NULL;
}

const char *CFNetworkTrustThreadsProgram(void) {
    CHECK(makeCertificates() == 0);
    SecCertificateRef root = certificate("root.der"), other = certificate("other.der");
    const void *part = other;
    sharedRoots = CFArrayCreate(NULL, &part, 1, &kCFTypeArrayCallBacks);
    CHECK(SecTrustCreateWithCertificates(other, NULL, &sharedTrust) == noErr);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, evaluateOften, i == 0 ? NULL : &threads[i]) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK(!trustHasFailed && SecTrustSetAnchorCertificates(sharedTrust, sharedRoots) == noErr && SecTrustEvaluateWithError(sharedTrust, NULL));
    CFRelease(sharedTrust);
    CFRelease(sharedRoots);
    CFRelease(root);
    CFRelease(other);
    CHECK(removeCertificates() == 0);
    return NULL;
}
