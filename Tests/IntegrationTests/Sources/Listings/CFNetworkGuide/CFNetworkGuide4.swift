public import NetKit

extension CFNetworkGuide {
    /// Authentication step by step, with the types of HTTPAuth. `HTTPSession` does all of this chapter.
    public enum Chapter4 {
        /// The state of the guide's program: the load, and the credentials of each authentication object (4-5, 4-6).
        public struct Login {
            /// The request of the load.
            public var request: HTTPRequest
            /// The objects made from challenges, each with its credentials.
            public var known: [(authentication: HTTPAuthentication, credentials: Credentials?)] = []

            /// Makes a load without authentication.
            public init(_ request: HTTPRequest) {
                self.request = request
            }
        }

        /// User, password, account domain.
        public typealias Credentials = [HTTPAuthentication.CredentialKey: String]

        /// The next step with an authentication object (4-2).
        public enum Verdict: Equatable {
            /// Apply it.
            case valid
            /// The name or password was refused: discard them and prompt again.
            case askAgain
            /// Give up: the user cannot help.
            case giveUp
        }

        /// 4-1: makes an authentication object from a response with a challenge; nil for every other response.
        public static func listing1(_ stream: ReadStream) -> HTTPAuthentication? {
            stream[.httpResponse].flatMap { HTTPAuthentication(response: $0) }
        }

        /// 4-2: checks whether an object is valid; if not, whether other credentials could help.
        public static func listing2(_ authentication: HTTPAuthentication?) -> Verdict {
            guard let authentication else { return .giveUp }
            guard let error = authentication.error else { return .valid }
            return error.number == .badUserName || error.number == .badPassword ? .askAgain : .giveUp
        }

        /// 4-3: finds credentials, prompts the user if they are required and unknown, and applies them.
        ///
        /// The guide's listing stores the user's answer and then stops. Missing values become "", as in the guide: the server
        /// decides about them.
        public static func listing3(
            _ login: inout Login, _ authentication: HTTPAuthentication, known: Credentials?,
            prompt: (_ realm: String?, _ wantsDomain: Bool) -> (user: String?, password: String?, domain: String?)
        ) async throws {
            var credentials = known
            if credentials == nil, authentication.requiresUserNameAndPassword {
                let wantsDomain = authentication.requiresAccountDomain
                let answer = prompt(wantsDomain ? nil : authentication.realm, wantsDomain)
                var given: Credentials = [.username: answer.user ?? "", .password: answer.password ?? ""]
                if wantsDomain { given[.accountDomain] = answer.domain ?? "" }
                credentials = given
            }
            try await listing4(&login, authentication, credentials)
        }

        /// 4-4: applies credentials to the request; it is then sent again, on a new stream.
        public static func listing4(
            _ login: inout Login, _ authentication: HTTPAuthentication, _ credentials: Credentials?
        ) async throws {
            if let credentials {
                try await authentication.apply(to: &login.request, credentials: credentials)
            } else {
                try await authentication.apply(to: &login.request, nil)
            }
            login.known.removeAll { $0.authentication === authentication }
            login.known.append((authentication, credentials))
        }

        /// 4-5: finds an object made for this server and these paths.
        ///
        /// Such an object was made from a challenge of that server in this run, so its credentials may be sent preemptively. Stored
        /// passwords never are, because the server may have changed.
        public static func listing5(_ login: Login, _ request: HTTPRequest) -> HTTPAuthentication? {
            login.known.first { $0.authentication.appliesTo(request) }?.authentication
        }

        /// 4-6: finds the credentials of an object.
        public static func listing6(_ login: Login, _ authentication: HTTPAuthentication) -> Credentials? {
            login.known.first { $0.authentication === authentication }?.credentials
        }
    }
}

extension CFNetworkGuide.Chapter4 {
    /// 4-7: searches a store for credentials. The key consists of server, port, scheme and realm.
    ///
    /// For the path, the guide's text names an "authentication object", which has none; no path is needed here.
    public static func listing7(
        _ store: any CredentialStore, _ authentication: HTTPAuthentication
    ) throws(HTTPAuthError) -> Credential? {
        try store.find(CredentialQuery(authentication.space))
    }

    /// 4-8: reads the parts of an entry.
    public static func listing8(_ entry: Credential) -> Credentials {
        let password = entry.password?.withBytes { String(decoding: $0, as: UTF8.self) }
        return [.username: entry.user, .password: password ?? ""]
    }

    /// 4-9: changes the password of an entry in place: an entry of the same user for the same protection space is replaced.
    public static func listing9(
        _ store: any CredentialStore, _ entry: Credential, password: String
    ) throws(HTTPAuthError) {
        try store.save(Credential(user: entry.user, password: password, for: entry.space))
    }

    /// 4-10: adds an entry.
    public static func listing10(
        _ store: any CredentialStore, _ authentication: HTTPAuthentication, user: String, password: String
    ) throws(HTTPAuthError) {
        try store.save(Credential(user: user, password: password, for: authentication.space))
    }
}
