/// The listings of the CFNetwork Programming Guide, each written with NetKit under its number: 2-10 is
/// `CFNetworkGuide.Chapter2.listing10`.
///
/// They do what the guide's text says that its listings do. Where a listing does something else (a loop without an end, a short
/// write taken for an error, bytes that get lost), the comment says so, and the code is right. Each is run by
/// `ListingTests` against a real peer.
public enum CFNetworkGuide {}
