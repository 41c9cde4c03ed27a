/// The `EAI_` numbers of Darwin's `netdb.h`. Code written for CFHost compares with these; Linux numbers them
/// differently.
enum DarwinAddressInfoError {
    static let addressFamily = 1
    static let again = 2
    static let badFlags = 3
    static let fail = 4
    static let family = 5
    static let memory = 6
    static let noData = 7
    static let noName = 8
    static let service = 9
    static let socketType = 10
    static let system = 11
    static let overflow = 14
}
