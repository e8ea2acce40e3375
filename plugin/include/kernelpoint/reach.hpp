// Private members of a simulator's classes, for hooks that restore state. An explicit instantiation may name them, so
// that no line of the simulator is changed for it:
//
//     KERNELPOINT_REACH(Tags, cache_t, tag_array*, m_tags)     once, in namespace kernelpoint
//     cache.*reach(Tags())
#pragma once

namespace kernelpoint {

template <typename Tag, typename Tag::Member member>
struct Reach {
    friend typename Tag::Member reach(Tag) { return member; }
};

}  // namespace kernelpoint

#define KERNELPOINT_REACH(Tag, Owner, Type, member) \
    struct Tag {                                    \
        typedef Type Owner::* Member;               \
        friend Member reach(Tag);                   \
    };                                              \
    template struct Reach<Tag, &Owner::member>;
