public import NetKit

extension CFNetworkGuide {
    /// Authentication by hand, with the parts of HTTPAuth. `HTTPSession` is this chapter as one object.
    public enum Chapter4 {
        /// What the guide's program keeps: the load, and credentials of each authentication object (4-5, 4-6).
        public struct Login {
            /// The request of the load.
            public var request: HTTPRequest
            /// Objects that were made from challenges, with the credentials that were given to each.
            public var known: [(authentication: HTTPAuthentication, credentials: Credentials?)] = []

            /// A load that nobody has asked for a password yet.
            public init(_ request: HTTPRequest) {
                self.request = request
            }
        }

        /// User, password, account domain.
        public typealias Credentials = [HTTPAuthentication.CredentialKey: String]

        /// What to do with an authentication object (4-2).
        public enum Verdict: Equatable {
            /// It can be applied.
            case valid
            /// Name or password were refused: forget them, ask again.
            case askAgain
            /// Nothing that the user could change.
            case giveUp
        }

        /// 4-1: makes an authentication object from an answer that asks for one; nil for every other answer.
        public static func listing1(_ stream: ReadStream) -> HTTPAuthentication? {
            stream[.httpResponse].flatMap { HTTPAuthentication(response: $0) }
        }

        /// 4-2: looks whether an object is valid; if not, whether other credentials could help.
        public static func listing2(_ authentication: HTTPAuthentication?) -> Verdict {
            guard let authentication else { return .giveUp }
            guard let error = authentication.error else { return .valid }
            return error.number == .badUserName || error.number == .badPassword ? .askAgain : .giveUp
        }

        /// 4-3: finds credentials, asking the user if they are needed and not known, and applies them.
        ///
        /// The guide's listing fills in what the user said and then does not go on. Its missing values become "" here as
        /// there: the server says what it thinks of them.
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

        /// 4-5: finds an object that was made for this server and these paths.
        ///
        /// What it finds was made from a challenge of that server in this run, so its credentials may be sent at once. Stored
        /// passwords alone never are: the server may be another by now.
        public static func listing5(_ login: Login, _ request: HTTPRequest) -> HTTPAuthentication? {
            login.known.first { $0.authentication.appliesTo(request) }?.authentication
        }

        /// 4-6: finds the credentials that an object was given.
        public static func listing6(_ login: Login, _ authentication: HTTPAuthentication) -> Credentials? {
            login.known.first { $0.authentication === authentication }?.credentials
        }
    }
}
