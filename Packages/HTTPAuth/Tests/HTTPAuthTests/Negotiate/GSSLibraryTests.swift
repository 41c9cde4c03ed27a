@_spi(Packages) import EventLoops
import Glibc
import Testing

@testable import HTTPAuth

/// Tests the library that Negotiate loads at run time. `Scripts/consumers` runs programs where it is not installed, and the
/// integration tests use it with a Kerberos server.
@Suite struct GSSLibraryTests {
    private static func loading(_ fileName: String) -> Result<GSSLibrary, HTTPAuthError> {
        GSSLibrary.late(fileName).value
    }

    private func policy(
        _ options: NegotiateOptions = NegotiateOptions(),
        library: @escaping @Sendable () -> Result<GSSLibrary, HTTPAuthError>
    ) -> AuthenticationPolicy {
        var policy = AuthenticationPolicy()
        policy.methods = [.negotiate(options, library: library), .digest, .basic]
        return policy
    }

    // Parity: HA-052
    @Test("HA-052: a missing library is an error that names it") func missingLibrary() throws {
        let error = try #require(throws: HTTPAuthError.self) {
            try Self.loading("libnetkit-missing.so.2").get()
        }
        #expect(
            error.description == """
                Negotiate: a required library or facility is unavailable (MIT Kerberos is not installed or cannot be loaded: \
                libnetkit-missing.so.2: cannot open shared object file: No such file or directory)
                """)
        #expect(error.number == .authenticationTypeUnsupported)
    }

    // Parity: HA-052
    @Test("HA-052: a library without a function is an error that names both") func missingFunction() throws {
        let error = try #require(throws: HTTPAuthError.self) { try Self.loading("libm.so.6").get() }
        #expect(
            error.description == """
                Negotiate: a required library or facility is unavailable (libm.so.6 has no function gss_import_name; \
                MIT Kerberos 1.11 or later has it)
                """)
    }

    // Parity: HA-052
    @Test("HA-052: without the library, the next scheme is used, and the reason is reported") func nextScheme() throws {
        let policy = policy { Self.loading("libnetkit-missing.so.2") }
        let authentication = try Exchange.authentication(
            "Negotiate", "Digest realm=\"d\", nonce=\"n\"", "Basic realm=\"b\"", policy: policy)
        #expect(authentication.isValid && authentication.method == .digest)
        #expect(authentication.requiresUserNameAndPassword && authentication.realm == "d")
        let reasons = authentication.explain().description.split(separator: "\n")
        #expect(
            reasons.first == """
                Negotiate: skipped, a required library or facility is unavailable (MIT Kerberos is not installed or cannot \
                be loaded: libnetkit-missing.so.2: cannot open shared object file: No such file or directory)
                """)
        let others = ["Digest \"d\": chosen", "Basic \"b\": not needed, a preferred scheme was chosen"]
        #expect(reasons.dropFirst().map(String.init) == others)
        var request = try Exchange.request()
        try authentication.apply(to: &request, user: "joe", password: "secret")
        #expect(request.credentials?.is("Digest") == true)
    }

    // Parity: HA-052
    @Test("HA-052: a server that offers nothing else is refused with the reason") func onlyScheme() throws {
        let authentication = try Exchange.authentication(
            "Negotiate", policy: policy { Self.loading("libnetkit-missing.so.2") })
        #expect(authentication.error?.code == .unavailable && authentication.method == nil)
        #expect(authentication.error?.detail?.contains("libnetkit-missing.so.2") == true)
    }

    // Parity: HA-052
    @Test("HA-052: the library is not requested before a server offers Negotiate, nor for NTLM inside")
    func isLoadedLate() throws {
        let untouched = policy {
            Issue.record("the library was requested")
            return Self.loading("libnetkit-missing.so.2")
        }
        #expect(try Exchange.authentication("Basic realm=\"b\"", policy: untouched).method == .basic)
        var options = NegotiateOptions()
        options.allowsNTLM = true
        let inside = policy(options) {
            Issue.record("the library was requested")
            return Self.loading("libnetkit-missing.so.2")
        }
        #expect(try Exchange.authentication("Negotiate", "Basic realm=\"b\"", policy: inside).method == .negotiate)
    }

    @Test func isLoadedOnceADescriptorIsFree() async {
        await #expect(processExitsWith: .success) {
            let library = GSSLibrary.late(GSSLibrary.fileName)
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let count = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let early = library.value
            limit.rlim_cur = count
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let error = #expect(throws: HTTPAuthError.self) { try early.get() }
            #expect(error?.code == .unavailable && error?.detail?.hasSuffix("Too many open files") == true)
            _ = try library.value.get()
        }
    }

    /// The tests' machine has the library: it is a peer of the integration tests.
    // Parity: HA-052
    @Test("HA-052: all functions are found in MIT Kerberos") func isComplete() throws {
        _ = try Self.loading(GSSLibrary.fileName).get()
        #expect(GSSLibrary.use { _ in true } == true)
    }
}
