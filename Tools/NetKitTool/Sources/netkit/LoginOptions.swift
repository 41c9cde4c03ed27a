import ArgumentParser
import CredentialStores
import Foundation
import Glibc
import NetKit

/// The value of an option such as `-u`: `USER`, or `USER:PASSWORD`.
struct UserAndPassword {
    let user: String
    /// Nil without a colon.
    let password: String?

    init(_ text: String) {
        let words = text.unicodeScalars.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        user = String(words[0])
        password = words.count > 1 ? String(words[1]) : nil
    }
}

/// The options for logins to HTTP servers and proxies.
struct LoginOptions: ParsableArguments {
    /// The values of --auth that shells complete.
    private static let schemes = ["any", "negotiate", "ntlm", "digest", "basic"]

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp(
            "Log in as USER if the server requires it; a missing password is asked for on the terminal. Sent to no other server.",
            valueName: "USER[:PASSWORD]"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "Allowed schemes, first choice first: any, or a list of negotiate,ntlm,digest,basic.",
            valueName: "SCHEMES"), completion: .list(LoginOptions.schemes))
    var auth: String?

    @Option(
        help: ArgumentHelp(
            "Log in as USER if a proxy requires it; a missing password is asked for on the terminal.",
            valueName: "USER[:PASSWORD]"))
    var proxyUser: String?

    @Option(
        help: ArgumentHelp(
            "Allowed schemes for proxies. Same values as --auth, which does not apply to proxies.", valueName: "SCHEMES"
        ), completion: .list(LoginOptions.schemes))
    var proxyAuth: String?

    @Option(
        help: ArgumentHelp(
            "Let HOST act in your name elsewhere (Kerberos delegation); repeatable. For fully trusted hosts only.",
            valueName: "HOST"))
    var delegate: [String] = []

    @Option(
        help: ArgumentHelp(
            "Request Kerberos tickets only for HOST, also after redirects; repeatable, '*' for all. Default: the URL's host.",
            valueName: "HOST"))
    var negotiateHost: [String] = []

    @Option(
        help: ArgumentHelp(
            "Read passwords from the desktop's keyring, or from an encrypted FILE, whose pass-phrase is asked for on the terminal.",
            valueName: "keyring|FILE"), completion: .file())
    var passwordStore: String?

    @Flag(help: "Save a typed password in the --password-store once it is accepted.")
    var savePassword = false

    @Option(
        name: [.customLong("bearer"), .customLong("oauth2-bearer")], parsing: .unconditional,
        help: ArgumentHelp(
            "Send this bearer token: text, or @FILE. Sent to the URL's host only.", valueName: "TOKEN"))
    var bearer: String?

    @OptionGroup var netrc: NetrcOptions

    func validate() throws {
        let methods = try methods(auth, "--auth")
        if methods?.contains(.negotiate) == false, !delegate.isEmpty || !negotiateHost.isEmpty {
            throw ValidationError("--delegate and --negotiate-host require Negotiate, which --auth excludes.")
        }
        _ = try self.methods(proxyAuth, "--proxy-auth")
        if bearer != nil, user != nil { throw ValidationError("--bearer cannot be combined with -u.") }
        if savePassword, passwordStore == nil {
            throw ValidationError("--save-password requires --password-store keyring or --password-store FILE.")
        }
    }

    /// Whether to answer a 401.
    var isUsed: Bool {
        user != nil || auth != nil || netrc.isUsed || passwordStore != nil || !delegate.isEmpty
            || !negotiateHost.isEmpty
    }

    /// Whether to answer a 407 with more than the user in the proxy's URL.
    var isUsedForProxies: Bool { proxyUser != nil || proxyAuth != nil || passwordStore != nil }

    /// The given options that apply only to HTTP.
    var httpOptions: [String] {
        [
            ("--auth", auth != nil), ("--proxy-user", proxyUser != nil), ("--proxy-auth", proxyAuth != nil),
            ("--delegate", !delegate.isEmpty), ("--negotiate-host", !negotiateHost.isEmpty),
            ("--password-store", passwordStore != nil), ("--save-password", savePassword), ("--bearer", bearer != nil),
        ].filter(\.1).map(\.0)
    }

    /// The URL with the user name and password of `-u`.
    func url(for url: URL) -> URL {
        guard let user, var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        let login = UserAndPassword(user)
        (parts.user, parts.password) = (login.user, login.password)
        return parts.url ?? url
    }

    /// A session configuration with these logins.
    ///
    /// - Parameter prompt: asks the user for what the options do not give.
    func configuration(_ prompt: LoginPrompt) throws -> HTTPSession.Configuration {
        var configuration = HTTPSession.Configuration()
        configuration.policy.methods = try methods(auth, "--auth") ?? configuration.policy.methods
        configuration.policy.methods = configuration.policy.methods.map { $0 == .negotiate ? negotiate : $0 }
        var proxyPolicy = AuthenticationPolicy()
        proxyPolicy.methods = try methods(proxyAuth, "--proxy-auth") ?? proxyPolicy.methods
        configuration.proxyPolicy = proxyPolicy
        if let file = try netrc.file() { configuration.stores.origins.append(file) }
        if let store = try store() {
            // Reports an unusable store now, not when a server requires a login. One store serves both roles, since each
            // entry holds its role.
            try store.check()
            configuration.stores.origins.append(store)
            configuration.stores.proxies.append(store)
        }
        configuration.prompt = { await prompt.answer($0) }
        return configuration
    }

    /// Adds the field of `--bearer` (RFC 6750 §2.1).
    func addBearer(to request: inout HTTPRequest) throws {
        guard let bearer else { return }
        var token = bearer
        if bearer.hasPrefix("@") {
            let path = String(bearer.dropFirst())
            if let failure = OutputFile.Failure(reading: path) { throw failure }
            token = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        try request.fields.set("Bearer \(token)", for: .authorization)
    }

    /// The prompt for what these options do not give.
    func prompt() -> LoginPrompt {
        LoginPrompt(
            proxyUser: proxyUser, answersServers: isUsed, answersProxies: isUsedForProxies,
            savesPassword: savePassword)
    }

    /// What a 401 or 407 means, in one sentence with the option that helps; nil for another status.
    func refusal(_ response: HTTPResponse, _ prompt: LoginPrompt) -> String? {
        let isProxy = response.status == .proxyAuthenticationRequired
        var policy = AuthenticationPolicy()
        policy.methods = (try? methods(isProxy ? proxyAuth : auth, "")) ?? policy.methods
        guard let authentication = HTTPAuthentication(response: response, policy: policy) else { return nil }
        let asker = isProxy ? "The proxy" : "The server"
        if !isProxy, bearer != nil { return "The server rejected the token of --bearer." }
        if let question = prompt.unanswered(isProxy ? .proxy : .origin) {
            let scheme = question.method.name
            let realm = question.requiresAccountDomain ? nil : question.space.realm.map { "\"\($0)\"" }
            if question.failure != nil {
                return "Wrong user name or password for \(realm ?? asker.lowercased()) (\(scheme))."
            }
            if let login = isProxy ? proxyUser : user, UserAndPassword(login).password != nil {
                let option = isProxy ? "--proxy-auth" : "--auth"
                return question.downgrade == nil
                    ? "\(asker) did not complete the \(scheme) login; \(option) selects another scheme."
                    : "\(asker) now requires a weaker login than before (\(scheme)); \(option) permits it."
            }
            let option = (isProxy ? "--proxy-user USER" : "-u USER") + (question.user == nil ? "" : ":PASSWORD")
            return "\(asker) requires \(scheme == "NTLM" ? "an" : "a") \(scheme) login"
                + "\(realm.map { " for \($0)" } ?? ""): use \(option)."
        }
        if authentication.isValid { return "\(asker) rejected the login." }
        let exclusion = Self.exclusion(of: authentication, by: isProxy ? "--proxy-auth" : "--auth")
        let reason = authentication.error.map { ": \($0)" } ?? ""
        return "\(asker) \(exclusion ?? "requires a login, but no offered scheme can be used\(reason)")."
    }

    /// Why no offered scheme was even tried, as the predicate of a sentence about the server or proxy; nil if one was.
    ///
    /// - Parameter option: the option that may have excluded schemes.
    static func exclusion(of authentication: HTTPAuthentication, by option: String) -> String? {
        let explanation = authentication.explain()
        let (entries, errors) = (explanation.entries, explanation.errors)
        let schemes = entries.map(\.scheme).joined(separator: ", ")
        if entries.isEmpty {
            return "requires a login, but "
                + (errors.first.map { "its challenge is malformed (\($0))" } ?? "offers no scheme")
        }
        if entries.allSatisfy({ $0.outcome == .notAllowed }) {
            return "offers only \(schemes), which \(option) excludes"
        }
        if entries.allSatisfy({ [.unknown, .unsupported].contains($0.outcome) }) {
            return "offers only \(schemes), which netkit does not support"
        }
        return nil
    }

    /// The store of `--password-store`; `./keyring` denotes a file of that name.
    private func store() throws(HTTPAuthError) -> (any CredentialStore)? {
        guard let path = passwordStore else { return nil }
        if path == "keyring" { return SecretServiceStore() }
        let isNew = access(path, F_OK) != 0
        if isNew, !savePassword {
            throw HTTPAuthError(
                .storeUnavailable, detail: "\(path) does not exist; --save-password creates it")
        }
        guard let terminal = PasswordTerminal(),
            let phrase = terminal.secret("\(isNew ? "New pass-phrase" : "Pass-phrase") for \(Terminal.shown(path)): ")
        else { throw HTTPAuthError(.storeLocked, detail: "no terminal to ask for the pass-phrase of \(path)") }
        if isNew, terminal.secret("Repeat the pass-phrase: ") != phrase {
            throw HTTPAuthError(.storeLocked, detail: "the two pass-phrases differ")
        }
        return CredentialFile(path: path, key: .passphrase(phrase))
    }

    private var negotiate: AuthenticationMethod {
        var options = NegotiateOptions()
        if !delegate.isEmpty { options.delegation = .toHosts(Set(delegate)) }
        if !negotiateHost.isEmpty { options.hosts = negotiateHost.contains("*") ? .all : .list(Set(negotiateHost)) }
        return .negotiate(options)
    }

    private func methods(_ list: String?, _ option: String) throws -> [AuthenticationMethod]? {
        guard let list, list.lowercased() != "any" else { return nil }
        return try list.split(separator: ",").map { name in
            guard
                let method = AuthenticationPolicy().methods.first(where: { $0.name.lowercased() == name.lowercased() })
            else {
                throw ValidationError("\(option) '\(name)' is not a scheme; use any, negotiate, ntlm, digest or basic.")
            }
            return method
        }
    }
}

/// The options for passwords from a netrc file.
struct NetrcOptions: ParsableArguments {
    @Flag(help: "Read passwords from $NETRC or ~/.netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Read passwords from FILE, in netrc format.", valueName: "FILE"), completion: .file())
    var netrcFile: String?

    /// Whether one of the options was given.
    var isUsed: Bool { netrc || netrcFile != nil }

    /// The file; nil without these options.
    func file() throws -> NetrcFile? {
        let environment = ProcessInfo.processInfo.environment
        let usual = environment["NETRC"] ?? environment["HOME"].map { $0 + "/.netrc" }
        guard let path = netrcFile ?? (netrc ? usual : nil) else { return nil }
        let file = try NetrcFile(path: path)
        for line in file.skipped { Terminal.warn("\(path), line \(line.line), was skipped: \(line.reason).") }
        return file
    }
}
