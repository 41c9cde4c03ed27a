internal import Glibc

/// Conversion of names with non-ASCII letters to the ASCII form of the DNS (RFC 5891 §4, with the mapping of UTS 46).
///
/// Uses libidn2, loaded at run time. Its tables are large and change with Unicode; the library is on nearly every
/// machine, because glibc's own `AI_IDN` loads it too.
enum InternationalName {
    /// `int idn2_to_ascii_8z(const char *, char **, int flags)`
    private typealias ToASCII =
        @convention(c) (
            UnsafePointer<CChar>, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, CInt
        ) -> CInt

    /// `IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL`, as in browsers: `ß` is not mapped to `ss`.
    private static let flags: CInt = 1 | 8

    private static let toASCII: ToASCII? = {
        guard let library = dlopen("libidn2.so.0", RTLD_NOW | RTLD_LOCAL),
            let symbol = dlsym(library, "idn2_to_ascii_8z")
        else { return nil }
        return unsafeBitCast(symbol, to: ToASCII.self)
    }()

    static func ascii(of name: String) throws(ResolverError) -> String {
        guard !name.utf8.contains(0) else { throw ResolverError(.invalidName, name: name, detail: "a NUL byte") }
        guard let toASCII else { throw ResolverError(.internationalNamesUnavailable, name: name) }
        var converted: UnsafeMutablePointer<CChar>?
        let status = name.withCString { toASCII($0, &converted, flags) }
        defer { free(converted) }
        guard status == 0, let converted else {
            throw ResolverError(.invalidName, name: name, detail: "cannot be converted to ASCII (IDNA)")
        }
        return String(cString: converted)
    }
}
